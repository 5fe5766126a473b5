package contender_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/servers"
)

// What does not exclude is not compared: it would be fast for the wrong reason.
func TestEveryContenderExcludesAndReleases(t *testing.T) {
	t.Parallel()
	masters, err := servers.Start(t.Context(), 5)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, masters.Close()) })
	addrs := masters.Addrs()

	for name, open := range map[string]func() (contender.Contender, error){
		contender.RawName:             func() (contender.Contender, error) { return contender.Raw(addrs[0]), nil },
		contender.FanName:             func() (contender.Contender, error) { return contender.Fan(addrs), nil },
		contender.RedsyncName:         func() (contender.Contender, error) { return contender.Redsync(addrs), nil },
		contender.RedsyncTimeoutsName: func() (contender.Contender, error) { return contender.RedsyncTimeouts(addrs), nil },
		contender.RedislockName:       func() (contender.Contender, error) { return contender.Redislock(addrs[0]), nil },
		contender.LibraryName:         func() (contender.Contender, error) { return contender.Library(addrs) },
		contender.LibraryName + " for holding": func() (contender.Contender, error) {
			return contender.LibraryForHolding(addrs, time.Minute)
		},
		contender.FencedName: func() (contender.Contender, error) { return contender.Fenced(addrs) },
	} {
		c, err := open()
		require.NoError(t, err, name)
		excludes(t, c, "excludes:"+name)
		require.NoError(t, c.Close(), name)
	}
	requireEmpty(t, addrs)
}

func excludes(t *testing.T, c contender.Contender, key string) {
	t.Helper()
	held, err := c.Acquire(t.Context(), key)
	require.NoError(t, err, c.Name())

	brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	second, err := c.Acquire(brief, key)
	require.Error(t, err, c.Name())
	require.Nil(t, second, c.Name())

	require.NoError(t, held.Unlock(t.Context()), c.Name())
	require.Error(t, held.Unlock(t.Context()), "%s: a second release", c.Name())
	held, err = c.Acquire(t.Context(), key)
	require.NoError(t, err, "%s: after the release", c.Name())
	require.NoError(t, held.Unlock(t.Context()), c.Name())
}

func TestOnlyWhoCanWaitIsOpenedByName(t *testing.T) {
	t.Parallel()
	addrs := []string{"127.0.0.1:1"} // nothing is dialled
	for _, name := range []string{contender.RedsyncName, contender.RedislockName, contender.LibraryName} {
		c, err := contender.Open(name, addrs)
		require.NoError(t, err, name)
		require.Equal(t, name, c.Name())
		_, canTry := c.(contender.Trier)
		require.Equal(t, name == contender.LibraryName, canTry, name)
		require.NoError(t, c.Close(), name)
	}
	_, err := contender.Open(contender.RawName, addrs)
	require.ErrorContains(t, err, `"raw"`)
}

// requireEmpty waits until nothing is left but the counters of fenced locks, which outlive them.
func requireEmpty(t *testing.T, addrs []string) {
	t.Helper()
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr})
		require.Eventually(t, func() bool {
			keys, err := client.Keys(t.Context(), "*").Result()
			return err == nil && !slices.ContainsFunc(keys, func(key string) bool { return !strings.HasPrefix(key, "~f:") })
		}, 5*time.Second, 10*time.Millisecond, addr)
		require.NoError(t, client.Close())
	}
}
