package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// A client whose own timeouts are long returns from a hung node after the Unlock has. The nodes that it had no answer from
// prove nothing, so the lock is not lost.
func TestUnlockThatEndsBeforeItsClientsDoIsNotLost(t *testing.T) {
	t.Parallel()
	for hung, want := range map[int]error{1: nil, 2: nil, 3: ErrNoQuorum, 5: ErrNoQuorum} {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			lock := c.mustTryLock(t, "k")
			synctest.Wait() // all five granted
			for _, m := range c.masters[:hung] {
				m.timeout = 10 * nodeTimeout
				m.set(way{drop: true})
			}
			for _, m := range c.masters[hung:] {
				m.set(way{})
			}
			err := lock.Unlock(t.Context())
			require.NotErrorIs(t, err, ErrLost, "%d nodes hung", hung)
			require.ErrorIs(t, err, want)
			for _, m := range c.masters {
				m.set(way{})
			}
			c.settle(t)
			require.Empty(t, c.ours())
			time.Sleep(ttl)
		})
	}
}

// Of a bare majority that granted one node is silent: the lock was held on all three for all that is known.
func TestSilenceOfAVoterIsNoProofOfLoss(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.each(way{down: errRefused}, 3, 4)
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		c.masters[0].timeout = 10 * nodeTimeout
		c.each(way{drop: true}, 0)
		require.NoError(t, lock.Unlock(t.Context()))
		c.each(way{}, 0, 3, 4)
		c.settle(t)
	})
}

// tardy is a clock whose timers are late, as they are on a machine that has no time.
type tardy struct{ clock.Clock }

func (c tardy) AfterFunc(d time.Duration, f func()) func() bool {
	return c.Clock.AfterFunc(d+nodeTimeout/2, f)
}

// The votes that won a round are those of voters, even if they came after the node timeout and ahead of its timer.
func TestGrantsThatWinBeforeALateTimerHoldTheLock(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithClock(tardy{clock.Monotonic()}))
		for i, m := range c.masters {
			m.timeout = 10 * nodeTimeout
			m.set(way{back: nodeTimeout + time.Duration(i+1)*time.Millisecond})
		}
		lock := c.mustTryLock(t, "k")
		for _, m := range c.masters {
			m.set(way{})
		}
		require.NoError(t, lock.Unlock(t.Context()))
		c.settle(t)
	})
}
