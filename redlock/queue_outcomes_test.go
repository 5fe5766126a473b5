package redlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A ghost on the canary and nodes that are far away, though well inside the node timeout: the first round is given up as split, and the
// one after it is not.
func TestAStuckCanaryBesideFarNodesHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 4, 5, 7} {
		bubble(t, func(t *testing.T) {
			c := primed(t, n, WithTTL(time.Minute))
			for i := range c.masters {
				w := way{out: trip / 2, back: trip / 2}
				if i > n/2 {
					w = way{out: 35 * time.Millisecond, back: 35 * time.Millisecond}
				}
				c.each(w, i)
			}
			key := c.keyAt(0)
			c.masters[0].put("set", key, foreign)
			lock, err := c.Lock(after(t, time.Second), key)
			require.NoError(t, err, "%d nodes", n)
			require.NoError(t, lock.Unlock(t.Context()))
			time.Sleep(5 * time.Second)
		})
	}
}

// The canary said that the key was free, and somebody was quicker: that the others were not asked says nothing of them.
func TestARefusalOfTheCanaryAloneIsNoMissingQuorum(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]LockOption{"the last attempt": {WithMaxAttempts(2)}, "the context ends": nil} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, 1, WithTTL(time.Minute))
			key := c.keyAt(0)
			for _, m := range c.masters[1:] {
				m.hold(key, time.Hour)
			}
			canary := c.masters[0]
			canary.set(way{out: trip / 2, back: trip / 2, answer: func(r request) (any, error, bool) {
				if r.script != "queue" || canary.values()[key] != "" {
					return nil, nil, false
				}
				canary.hold(key, time.Hour)
				return []any{int64(0)}, nil, true
			}})
			_, err := c.Lock(after(t, 2*time.Second), key, opts...)
			require.ErrorIs(t, err, ErrTaken, name)
			require.NotErrorIs(t, err, ErrNoQuorum, name)
		})
	}
}

// Who waits for a lock of the own process asks nobody for it, and is told all the same why it had to wait.
func TestAWaitForALockOfTheSameProcessTellsThatItIsTaken(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 1, WithTTL(time.Minute))
		turns, gone := make(chan turn, 1), make(chan turn, 1)
		first, err := c.Lock(t.Context(), "k")
		require.NoError(t, err)
		c.queueUp(t.Context(), 0, "k", turns)
		c.queueUp(after(t, 3*time.Second), 0, "k", gone)
		require.NoError(t, first.Unlock(t.Context()))
		second := <-turns
		require.NoError(t, second.err)
		require.ErrorIs(t, (<-gone).err, ErrTaken)
		require.NoError(t, second.lock.Unlock(t.Context()))
	})
}

// A node may grant while the canary's choice pauses between two questions.
func TestANodeThatGrantedIsNotAskedOnceMore(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 1, WithTTL(time.Minute))
		key := c.keyAt(0)
		for _, m := range c.masters[1:] {
			m.hold(key, time.Hour)
		}
		time.AfterFunc(trip, func() { // the first question is answered
			c.masters[4].put("del", key)
			c.each(way{out: trip / 2, back: 2 * trip}, 4)
		})
		_, err := c.Lock(t.Context(), key, WithMaxAttempts(1))
		require.ErrorIs(t, err, ErrTaken)
		require.Len(t, c.masters[4].requests("again"), 1)
		time.Sleep(2 * time.Second)
	})
}
