package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALockThatRanOutBeforeItsUnlockIsLostAndCleanedUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustTryLock(t, "k")
		time.Sleep(ttl - drift) // the keys live a little longer than the lock
		require.Len(t, c.ours(), 5)
		err := lock.Unlock(t.Context())
		require.ErrorIs(t, err, ErrLost)
		require.NotErrorIs(t, err, ErrTaken)
		require.NotErrorIs(t, err, ErrNoQuorum)
		synctest.Wait()
		require.Empty(t, c.ours())
		before := c.sent("")
		require.Same(t, err, lock.Unlock(t.Context()), "what was said once is not taken back")
		require.Equal(t, before, c.sent(""))
	})
}

func TestALockThatWasAliveWhenItsUnlockBeganIsNotLostByTheTimeItTakes(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		c.each(way{lose: true}, 0, 1, 2)
		time.Sleep(ttl - drift - 1)
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrNoQuorum)
		c.each(way{}, 0, 1, 2)
		time.Sleep(recovery)
		// By now the keys have expired, or the library has deleted them: a release of ours was sent there, so nothing says
		// that the lock was lost.
		require.NoError(t, lock.Unlock(t.Context()))
	})
}

func TestALockThatRanOutBeforeTheFirstUnlockStaysLostWhenThatCouldNotAskTheNodes(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustTryLock(t, "k")
		time.Sleep(ttl - drift)
		c.each(way{down: errRefused}, 0, 1, 2)
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost)
		c.each(way{}, 0, 1, 2)
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost)
		time.Sleep(recovery)
		require.Empty(t, c.ours(), "and it is cleaned up")
	})
}

// fate is what a node carries when the lock is given back.
type fate uint8

const (
	kept fate = iota
	forgotten
	stolen
	fates
)

// Whether a lock was lost, and to whom, depends on what the nodes carry and not on who answers first.
func TestALockIsLostWhenTooFewNodesStillHadIt(t *testing.T) {
	t.Parallel()
	for i := range 3 * 3 * 3 * 3 * 3 {
		nodes, count := make([]fate, 5), make(map[fate]int)
		for j, rest := 0, i; j < len(nodes); j, rest = j+1, rest/int(fates) {
			nodes[j] = fate(rest % int(fates))
			count[nodes[j]]++
		}
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			lock := c.mustTryLock(t, "k")
			synctest.Wait()
			for i, f := range nodes {
				if f != kept {
					c.masters[i].forget()
				}
				if f == stolen {
					c.masters[i].hold("k", time.Hour)
				}
			}
			c.staggered(time.Millisecond)
			err := lock.Unlock(t.Context())
			if count[kept] >= 3 {
				require.NoError(t, err, "%v", nodes)
			} else {
				require.ErrorIs(t, err, ErrLost, "%v", nodes)
				require.NotErrorIs(t, err, ErrNoQuorum, "%v", nodes)
			}
			if count[stolen] >= 3 {
				require.ErrorIs(t, err, ErrTaken, "%v", nodes)
			} else {
				require.NotErrorIs(t, err, ErrTaken, "%v", nodes)
			}
			time.Sleep(time.Second)
			require.Empty(t, c.ours(), "%v", nodes)
			for i, f := range nodes {
				require.Equal(t, f == stolen, c.masters[i].values()["k"] == foreign, "another's key is not touched")
			}
		})
	}
}

// Our own release may have run although its reply was lost: that the key is gone then, or somebody else's, proves nothing.
func TestALostReplyOfAReleaseIsNeverALostLock(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		for _, taken := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 5)
				for _, m := range c.masters {
					m.load() // else it takes a second round trip
				}
				lock := c.mustTryLock(t, "k")
				synctest.Wait()
				for _, m := range c.masters[:n] {
					m.set(way{drop: true})
				}
				err := lock.Unlock(t.Context())
				require.NotErrorIs(t, err, ErrLost)
				require.Equal(t, n >= 3, err != nil)
				synctest.Wait()
				require.Empty(t, c.ours(), "it did run")
				for _, m := range c.masters[:n] {
					m.set(way{})
					if taken {
						m.hold("k", time.Hour)
					}
				}
				time.Sleep(recovery)
				if err != nil {
					require.ErrorIs(t, err, ErrNoQuorum)
					require.NoError(t, lock.Unlock(t.Context()))
				}
			})
		}
	}
}

// A node that granted in time counts, although the majority did not wait for it, and although its grant came only after
// the Unlock had begun.
func TestAGrantThatCameInTimeCountsInUnlockAlthoughTheVerdictDidNotWaitForIt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.each(way{out: 50 * time.Millisecond}, 3, 4)
		lock := c.mustTryLock(t, "k")
		synctest.Wait() // all five have left
		c.each(way{}, 3, 4)
		c.masters[0].forget()
		require.NoError(t, lock.Unlock(t.Context()))
	})
}

// A node that granted too late does not: another may have held and released the lock there meanwhile.
func TestAGrantThatCameAfterTheNodeTimeoutDoesNotCountInUnlock(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		for _, m := range c.masters[3:] {
			m.timeout = time.Second
			m.set(way{out: nodeTimeout + 1})
		}
		lock := c.mustTryLock(t, "k")
		time.Sleep(2 * nodeTimeout)
		require.Len(t, c.ours(), 5)
		c.masters[0].forget()
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost)
	})
}
