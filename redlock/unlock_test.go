package redlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsNoLockIsUnlocked(t *testing.T) {
	t.Parallel()
	for _, k := range []*Lock{nil, {}} {
		require.ErrorIs(t, k.Unlock(t.Context()), ErrUnlocked)
		require.ErrorIs(t, k.Unlock(t.Context()), ErrUnlocked)
		require.Zero(t, k.Remaining())
		require.Zero(t, k.Until())
		require.Empty(t, k.Key())
		require.NotPanics(t, func() { _ = k.String() + k.LogValue().String() })
	}
}

func TestTheSecondUnlockIsUnlockedAndAsksNoNode(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustTryLock(t, "k")
		require.NoError(t, lock.Unlock(t.Context()))
		synctest.Wait()
		require.Empty(t, c.ours())
		before := c.sent("")
		for range 3 {
			require.ErrorIs(t, lock.Unlock(t.Context()), ErrUnlocked)
			require.NotErrorIs(t, lock.Unlock(t.Context()), ErrLost)
		}
		require.Equal(t, before, c.sent(""))
		require.Zero(t, lock.Remaining())
	})
}

func TestALockIsTrustedNoLongerOnceItsUnlockHasBegun(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustTryLock(t, "k")
		c.staggered(50 * time.Millisecond)
		go func() { _ = lock.Unlock(t.Context()) }()
		synctest.Wait()
		require.Zero(t, lock.Remaining())
		require.Zero(t, lock.Until())
		require.Equal(t, "k", lock.Key())
		time.Sleep(time.Second)
	})
}

func TestUnlockIsRetriedUntilTheNodesAreBack(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]way{
		"refused": {down: errRefused}, "hung": {lose: true}, "reply lost": {drop: true}, "error": bars("BUSY Redis is busy.", 0),
	} {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			lock := c.mustTryLock(t, "k")
			synctest.Wait()
			c.each(w, 0, 1, 2)
			for range 3 {
				err := lock.Unlock(t.Context())
				require.ErrorIs(t, err, ErrNoQuorum, name)
				require.NotErrorIs(t, err, ErrLost, name)
				require.NotErrorIs(t, err, ErrUnlocked, name)
				requireNodes(t, err, 0, 1, 2)
			}
			c.each(way{}, 0, 1, 2)
			time.Sleep(time.Second + nodeTimeout) // a node that failed is not asked for a moment
			require.NoError(t, lock.Unlock(t.Context()), name)
			require.ErrorIs(t, lock.Unlock(t.Context()), ErrUnlocked, name)
			synctest.Wait()
			require.Empty(t, c.ours(), name)
		})
	}
}

// The library goes on by itself where the caller does not.
func TestAnUnlockThatFailedIsFinishedWithoutTheCaller(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithTTL(time.Hour))
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		for _, m := range c.masters {
			m.stop()
		}
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrNoQuorum)
		time.Sleep(5 * time.Minute)
		require.Len(t, c.ours(), 5)
		for _, m := range c.masters {
			m.resume()
		}
		time.Sleep(recovery)
		require.Empty(t, c.ours())
	})
}

// By far the most common mistake with a deferred Unlock must be none.
func TestUnlockDoesNotHeedItsContextsEnd(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("request is over"))
	past, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	for _, ctx := range []context.Context{cancelled, past} {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			lock := c.mustTryLock(t, "k")
			c.staggered(10 * time.Millisecond)
			require.NoError(t, lock.Unlock(ctx))
			time.Sleep(nodeTimeout)
			require.Empty(t, c.ours())
		})
	}
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		c.each(way{back: 100 * time.Millisecond}, 0, 1, 2, 3, 4)
		require.Equal(t, 200*time.Millisecond, took(func() {
			require.NoError(t, lock.Unlock(after(t, time.Millisecond)), "its end while it waits changes nothing either")
		}))
	})
}

func TestUnlockIsBoundedByTwiceTheNodeTimeout(t *testing.T) {
	t.Parallel()
	for hung := 1; hung <= 5; hung++ {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			lock := c.mustTryLock(t, "k")
			synctest.Wait()
			for _, m := range c.masters[:hung] {
				m.stop()
				m.timeout = time.Minute // the client's own patience is another matter
			}
			var err error
			elapsed := took(func() { err = lock.Unlock(t.Context()) })
			if hung <= 2 {
				require.NoError(t, err)
				require.Zero(t, elapsed)
				return
			}
			require.ErrorIs(t, err, ErrNoQuorum)
			require.Equal(t, 2*nodeTimeout, elapsed)
			require.Equal(t, hung, quorumError(t, err).Unknown)
			requireNodes(t, err, []int{0, 1, 2, 3, 4}[:hung]...)
		})
	}
}

// The release goes behind the SET that is still on its way, on every lane: what overtook it would find nothing, and the
// key would come after.
func TestUnlockGoesBehindTheStragglersOfItsOwnAcquisition(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.each(way{out: 150 * time.Millisecond}, 3, 4)
		lock := c.mustTryLock(t, "k")
		synctest.Wait() // all five have left
		require.NoError(t, lock.Unlock(t.Context()))
		time.Sleep(time.Second)
		require.Empty(t, c.ours())
		for _, m := range c.masters[3:] {
			all := m.requests("")
			require.Equal(t, "set", all[0].name)
			require.True(t, all[1].at.After(all[0].applied.Add(-1)))
		}
	})
}

func TestUnlockWithdrawsTheSETThatHasNotLeftYet(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3)
		c.each(way{back: 100 * time.Millisecond}, 2)
		other := c.mustTryLock(t, "other")
		synctest.Wait() // the lane to node 2 is busy
		require.NoError(t, c.mustTryLock(t, "k").Unlock(t.Context()))
		require.NoError(t, other.Unlock(t.Context()))
		time.Sleep(time.Second)
		require.Len(t, c.masters[2].requests("set"), 1)
		require.Empty(t, c.ours())
	})
}

func TestAnUnlockWithoutAContextIsInvalidAndKeepsTheLock(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3)
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		before := c.sent("")
		require.ErrorIs(t, lock.Unlock(nil), ErrInvalid) //nolint:staticcheck // a nil context is what is tested
		require.Equal(t, before, c.sent(""))
		require.Positive(t, lock.Remaining())
		require.NoError(t, lock.Unlock(t.Context()))
	})
}
