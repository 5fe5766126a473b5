package redlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// staggered lets node i answer after i+1 steps.
func (c *cluster) staggered(step time.Duration) {
	for i, m := range c.masters {
		m.set(way{back: time.Duration(i+1) * step})
	}
}

func TestTryLockReturnsWithTheMajorityAndNotWithTheSlowestNode(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 9; n++ {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, n)
			c.staggered(10 * time.Millisecond)
			require.Equal(t, time.Duration(n/2+1)*10*time.Millisecond, took(func() { c.mustTryLock(t, "k") }))
		})
	}
}

func TestTryLockReturnsAsSoonAsItIsTaken(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.staggered(10 * time.Millisecond)
		for _, m := range c.masters[1:4] {
			m.hold("k", time.Hour)
		}
		require.Equal(t, 40*time.Millisecond, took(func() {
			_, err := c.TryLock(t.Context(), "k")
			require.ErrorIs(t, err, ErrTaken)
		}))
	})
}

func TestUnlockReturnsWhenTooFewNodesAreLeftToHoldTheLockAndNotWithTheSlowest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		c.staggered(10 * time.Millisecond)
		// Node 0 does not know the script yet: its answer takes two round trips of 10 ms, as do all the others'.
		require.Equal(t, 60*time.Millisecond, took(func() { require.NoError(t, lock.Unlock(t.Context())) }))
		c.settle(t)
		lock = c.mustTryLock(t, "k")
		time.Sleep(time.Second)
		require.Equal(t, 30*time.Millisecond, took(func() { require.NoError(t, lock.Unlock(t.Context())) }))
		time.Sleep(time.Second)
		require.Empty(t, c.ours(), "the slower nodes were released, too")
	})
}

func TestGrantsThatComeAfterTheVerdictWidenTheMajority(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.each(way{out: 50 * time.Millisecond}, 3, 4)
		lock := c.mustTryLock(t, "k")
		require.Len(t, c.ours(), 3)
		time.Sleep(100 * time.Millisecond)
		require.Len(t, c.ours(), 5, "a won round withdraws nothing")
		// Two of the first three forget. Three are left, and all three granted in time: nobody else can have had it.
		c.masters[0].forget()
		c.masters[1].forget()
		require.NoError(t, lock.Unlock(t.Context()))
		c.settle(t)
		require.Empty(t, c.ours())
	})
}

func TestTryLockIsBoundedByTheNodeTimeoutHoweverManyNodesHang(t *testing.T) {
	t.Parallel()
	for hung := 1; hung <= 5; hung++ {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			for _, m := range c.masters[:hung] {
				m.stop()
				m.timeout = 5 * time.Second // the client's own patience is another matter
			}
			var err error
			elapsed := took(func() { _, err = c.TryLock(t.Context(), "k") })
			if hung <= 2 {
				require.NoError(t, err)
				require.Zero(t, elapsed)
				return
			}
			require.ErrorIs(t, err, ErrNoQuorum)
			require.Equal(t, nodeTimeout, elapsed)
			e := quorumError(t, err)
			require.Equal(t, hung, e.Unknown)
			require.Len(t, e.Errs, hung)
			for i, n := range e.Errs {
				require.Equal(t, i, n.Index)
				require.ErrorContains(t, n, "node timeout")
			}
		})
	}
}

// With two nodes hung and two taken the one that is free decides nothing, and only time can tell that the others will not.
func TestTryLockWaitsForTheClassAtMostUntilTheNodeTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithNodeTimeout(70*time.Millisecond))
		c.arrange([]condition{grants, isTaken, isTaken, hangs, hangs}, "k")
		require.Equal(t, 70*time.Millisecond, took(func() {
			_, err := c.TryLock(t.Context(), "k")
			require.ErrorIs(t, err, ErrNoQuorum)
		}))
	})
}

func TestTryLockReturnsAtItsContextsDeadline(t *testing.T) {
	t.Parallel()
	for hung := 3; hung <= 5; hung++ {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			for _, m := range c.masters[:hung] {
				m.stop()
			}
			require.Equal(t, 30*time.Millisecond, took(func() {
				_, err := c.TryLock(after(t, 30*time.Millisecond), "k")
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, ErrNotAcquired)
				require.NotErrorIs(t, err, ErrTaken)
				require.NotContains(t, err.Error(), "no node was asked")
			}))
		})
	}
}

// A round may be lost long before it is known why: the caller's context bounds that wait, too, and so does Close.
func TestTheWaitForTheClassEndsWithTheContextOrClose(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.arrange([]condition{isTaken, isTaken, refusesConnection, hangs, hangs}, "k")
		require.Equal(t, 30*time.Millisecond, took(func() {
			_, err := c.TryLock(after(t, 30*time.Millisecond), "k")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, ErrTaken)
			require.NotErrorIs(t, err, ErrNoQuorum)
		}))
	})
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.arrange([]condition{isTaken, isTaken, refusesConnection, hangs, hangs}, "k")
		time.AfterFunc(30*time.Millisecond, func() { _ = c.Close(t.Context()) })
		require.Equal(t, 30*time.Millisecond, took(func() {
			_, err := c.TryLock(t.Context(), "k")
			require.ErrorIs(t, err, ErrClosed)
		}))
	})
}

// The second caller finds nodes that are known to owe an answer. It is bounded all the same, and so are a thousand more.
func TestCallsOnNodesThatAreKnownToHangAreBounded(t *testing.T) {
	t.Parallel()
	for hung := 1; hung <= 5; hung++ {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			for _, m := range c.masters[:hung] {
				m.stop()
				m.timeout = time.Hour
			}
			for range 100 {
				elapsed := took(func() {
					lock, err := c.TryLock(t.Context(), "k")
					if hung <= 2 {
						require.NoError(t, err)
						require.NoError(t, lock.Unlock(t.Context()))
						return
					}
					require.ErrorIs(t, err, ErrNoQuorum)
				})
				if hung <= 2 {
					require.Zero(t, elapsed)
				} else {
					require.LessOrEqual(t, elapsed, nodeTimeout)
				}
			}
			for _, m := range c.masters[:hung] {
				m.resume()
			}
		})
	}
}
