package node

import (
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// frugal are the commands that a server at its limit of memory still runs: they give some back, or take none.
var frugal = []string{
	"HELLO", "PING", "EVAL", "EVALSHA", "GET", "DEL", "EXISTS", "PTTL", "PEXPIRE", "TIME", "LPOP", "LREM", "LLEN", "LRANGE", "PUBLISH",
}

// fullSite is a server at its limit of memory: inside of scripts, too, it refuses whatever might take more. What a test needs there
// it has put there before.
func fullSite(t *testing.T, prepare func(*site)) *site {
	t.Helper()
	m := miniredis.RunT(t)
	s := siteAt(t, m.Addr())
	prepare(s)
	m.Server().SetPreHook(func(c *miniserver.Peer, command string, _ ...string) (done bool) {
		if slices.Contains(frugal, command) {
			return false
		}
		c.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
		return true
	})
	return s
}

// Whatever else is done along with it, a lock is given back, or left, although nothing that takes memory can be done.
func TestAServerAtItsLimitOfMemoryIsRidOfALock(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{"one key": {"a"}, "several keys": {"a", "b", "c"}} {
		held := func(s *site) {
			for _, key := range keys {
				s.set(key, "1", time.Minute)
			}
			s.waitsAt("a", "x", "y")
		}
		gone := func(s *site) {
			for _, key := range keys {
				s.requireKeys(map[string]string{key: ""})
			}
		}
		t.Run(name+", nothing that takes memory is done", func(t *testing.T) {
			t.Parallel()
			s := fullSite(t, held)
			require.ErrorContains(t, s.client.Set(t.Context(), s.prefix+"x", "1", 0).Err(), "OOM")
			_, _, err := s.take(s.attempt("2", "x", "y"))
			require.ErrorContains(t, err, "OOM")
		})
		t.Run(name+", released", func(t *testing.T) {
			t.Parallel()
			s := fullSite(t, held)
			answer, err := s.giveUp(s.attempt("1", keys...))
			require.NoError(t, err)
			require.Equal(t, quorum.Deleted, answer)
			gone(s)
		})
		t.Run(name+", released, and the next is named", func(t *testing.T) {
			t.Parallel()
			s := fullSite(t, held)
			answer, told, err := s.hand(s.attempt("1", keys...), "a")
			require.NoError(t, err)
			require.Equal(t, quorum.Deleted, answer)
			require.Equal(t, []any{int64(0)}, told, "nobody listens")
			gone(s)
		})
		t.Run(name+", left", func(t *testing.T) {
			t.Parallel()
			s := fullSite(t, held)
			a := s.attempt("1", keys...)
			a.End, a.Until = Leave, 20*time.Second
			answer, err := s.giveUp(a)
			require.NoError(t, err)
			require.Equal(t, quorum.Deleted, answer)
			for _, key := range keys {
				s.requireLife(key, 20*time.Second)
			}
		})
	}
}
