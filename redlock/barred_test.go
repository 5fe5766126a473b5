package redlock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// bars refuses everything with a server's error.
func bars(text string, back time.Duration) way {
	return way{back: back, answer: func(request) (any, error, bool) { return nil, reply(text), true }}
}

var refusals = []string{
	"NOAUTH Authentication required.",
	"WRONGPASS invalid username-password pair or user is disabled.",
	"NOPERM User app has no permissions to run the 'set' command",
}

func TestLockReturnsAtOnceWhenAMajorityRefusesOurCredentialsOrRights(t *testing.T) {
	t.Parallel()
	for _, text := range refusals {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			c.staggered(time.Millisecond)
			c.each(bars(text, 10*time.Millisecond), 0, 2, 4)
			require.Equal(t, 10*time.Millisecond, took(func() {
				lock, err := c.Lock(t.Context(), "k")
				require.Nil(t, lock)
				require.ErrorIs(t, err, ErrNoQuorum)
				require.ErrorContains(t, err, text)
			}))
			time.Sleep(time.Second)
			require.Empty(t, c.ours())
			require.Len(t, c.attempts(), 1)
		})
	}
}

// Whichever votes come first: the refusals of a majority show at the latest in the pause.
func TestLockReturnsWhenAMajorityRefusesOurCredentialsInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, others := range []condition{isTaken, refusesConnection} {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5, WithBackoff(time.Second, time.Second))
			key := c.keyAt(0) // so that it is not the canary's word that the verdict waits for
			c.arrange([]condition{others, others, grants, grants, grants}, key)
			c.each(bars(refusals[0], 10*time.Millisecond), 2)
			c.each(bars(refusals[1], 20*time.Millisecond), 3)
			c.each(bars(refusals[2], 30*time.Millisecond), 4)
			require.LessOrEqual(t, took(func() {
				_, err := c.Lock(after(t, time.Minute), key)
				require.ErrorIs(t, err, ErrNoQuorum)
				for _, text := range refusals {
					require.ErrorContains(t, err, text)
				}
			}), 1010*time.Millisecond)
		})
	}
}

func TestLockGoesOnWhenOnlyAMinorityRefusesOurCredentials(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.each(bars(refusals[0], 0), 0, 1)
		c.each(way{down: errRefused}, 2)
		time.AfterFunc(time.Second, func() { c.each(way{}, 2) })
		lock, err := c.Lock(after(t, time.Minute), "k")
		require.NoError(t, err)
		require.NoError(t, lock.Unlock(t.Context()), "nothing is there that the two could still hold")
	})
}

// Errors that pass by themselves are waited out.
func TestLockWaitsForNodesThatAreNotReady(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		"NOREPLICAS Not enough good replicas to write.",
		"BUSY Redis is busy running a script.",
	} {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			c.each(bars(text, 0), 0, 1, 2, 3, 4)
			_, err := c.TryLock(t.Context(), "k")
			require.ErrorIs(t, err, ErrNoQuorum)
			require.NotErrorIs(t, err, ErrTaken)
			require.ErrorContains(t, err, text)
			time.AfterFunc(3*time.Second, func() { c.each(way{}, 0, 1, 2, 3, 4) })
			_, err = c.Lock(after(t, time.Minute), "k")
			require.NoError(t, err)
		})
	}
}

// The client hides a refused greeting behind commands without an error; the sentinel finds it, and Lock sees what it is.
func TestAGreetingThatIsRefusedCountsAsTheRefusalItIs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const password = "wr0ng-secret"
		l, wires := wired(t, 3, WithClientOptions(func(o *redis.Options) { o.Password = password }))
		for _, w := range wires {
			w.setBend(bendTo("auth", "-"+refusals[1]+"\r\n"))
		}
		_, err := l.Lock(t.Context(), "k") // returns, although the context never ends
		require.ErrorIs(t, err, ErrNoQuorum)
		require.ErrorContains(t, err, "WRONGPASS")
		requireSecret(t, err.Error(), password)
		for _, w := range wires {
			require.Empty(t, w.requests(""), "nothing came through")
			w.setBend(nil)
		}
		time.Sleep(time.Second)
		lock, err := l.Lock(t.Context(), "k")
		require.NoError(t, err)
		require.NoError(t, lock.Unlock(t.Context()))
		time.Sleep(time.Second)
		for _, w := range wires {
			require.Empty(t, w.values())
		}
	})
}
