package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEachAttemptHasATokenOfItsOwn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		for _, m := range c.masters {
			m.hold("k", time.Hour)
		}
		_, err := c.Lock(t.Context(), "k", WithMaxAttempts(20))
		require.ErrorIs(t, err, ErrTaken)
		c.settle(t)
		for _, m := range c.masters {
			seen := make(map[string]bool)
			for _, r := range m.requests("set") {
				require.False(t, seen[r.token])
				seen[r.token] = true
			}
			// The verdict came with the third refusal; what had not left by then was withdrawn.
			require.GreaterOrEqual(t, len(seen), 1)
		}
		require.GreaterOrEqual(t, c.sent("set"), 3*20)
	})
}

func TestALostAttemptIsUndoneOnEveryNodeThatMayHoldIt(t *testing.T) {
	t.Parallel()
	silent := []struct {
		name string
		way  way
	}{
		{"reply lost", way{drop: true}},
		{"request on its way for longer than the timeout", way{out: 3 * nodeTimeout}},
		{"reply on its way for longer than the timeout", way{back: 3 * nodeTimeout}},
		{"server error", way{answer: func(r request) (any, error, bool) {
			return nil, reply("OOM command not allowed when used memory > 'maxmemory'."), r.name == "set"
		}}},
		{"reply of another shape", way{answer: func(r request) (any, error, bool) { return int64(1), nil, r.name == "set" }}},
	}
	for _, tt := range silent {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 5)
				c.each(tt.way, 0, 1, 2)
				_, err := c.TryLock(t.Context(), "k")
				require.ErrorIs(t, err, ErrNoQuorum)
				require.NotErrorIs(t, err, ErrTaken)
				c.each(way{}, 0, 1, 2)
				time.Sleep(recovery)
				require.Empty(t, c.ours())
				for i, m := range c.masters {
					require.Equal(t, m.requests("set")[0].token, lastRelease(t, m).token, "node %d", i)
				}
			})
		})
	}
}

func lastRelease(t *testing.T, m *master) request {
	t.Helper()
	all := append(m.requests("evalsha"), m.requests("eval")...)
	require.NotEmpty(t, all)
	return all[len(all)-1]
}

// The SET that a stopped node finds when it wakes must not leave a key behind, whatever overtook it meanwhile.
func TestWhatAStoppedNodeFindsWhenItWakesLeavesNoKey(t *testing.T) {
	t.Parallel()
	for stopped := 1; stopped <= 5; stopped++ {
		for _, d := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 20 * time.Second} {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 5)
				for _, m := range c.masters[:stopped] {
					m.stop()
				}
				lock, err := c.TryLock(t.Context(), "k")
				if err == nil {
					require.NoError(t, lock.Unlock(t.Context()))
				}
				time.Sleep(d)
				for _, m := range c.masters[:stopped] {
					m.resume()
				}
				time.Sleep(recovery)
				require.Empty(t, c.ours())
				require.NoError(t, c.mustTryLock(t, "k").Unlock(t.Context()), "and the key is free at once")
			})
		}
	}
}

func TestAMinorityThatWasWonIsGivenBackBeforeThePauseAndNotAfter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithBackoff(time.Second, time.Second))
		c.each(way{back: 10 * time.Millisecond}, 0, 1, 2, 3, 4)
		key := c.keyAt(0) // whom the canary granted would keep it, and ask again
		for _, m := range c.masters[:3] {
			m.hold(key, time.Hour)
		}
		go func() {
			_, err := c.Lock(after(t, 10*time.Second), key)
			check(t, err, ErrTaken)
		}()
		// Two grants and three refusals after 10 ms, releases (twice, for the script is new there) 20 ms later.
		time.Sleep(5 * time.Millisecond)
		require.Len(t, c.ours(), 2)
		time.Sleep(30 * time.Millisecond)
		require.Empty(t, c.ours())
		require.Len(t, c.masters[4].requests("set"), 1, "it is still in its pause")
		time.Sleep(20 * time.Second)
	})
}

func TestUndoWakesNoWaiter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, WithBackoff(time.Second, time.Second))
		for _, m := range c.masters[:2] {
			m.hold("k", 1500*time.Millisecond)
		}
		elapsed := make(chan time.Duration, 1)
		go func() {
			elapsed <- took(func() {
				_, err := c.Lock(t.Context(), "k")
				check(t, err, nil)
			})
		}()
		synctest.Wait()
		_, err := c.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, ErrTaken)
		require.Equal(t, 1501*time.Millisecond, <-elapsed, "the holder's life is the bound")
		require.Len(t, c.attempts(), 3, "the first and the last of Lock, and the one of TryLock")
		require.Equal(t, 3*len(c.masters), c.sent("pttl"), "the polls in between, of which the last two found it free")
	})
}
