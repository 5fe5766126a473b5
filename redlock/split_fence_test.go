package redlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Fences rise whoever of those that split the nodes has the lock, and however often it asked.
func TestFencesRiseWhereVotesAreSplit(t *testing.T) {
	t.Parallel()
	for canary := range 5 {
		bubble(t, func(t *testing.T) {
			c, turns := split(t, [][]int{{0, 1}, {2, 3}, {4}}, canary, append(unpolled(), WithFencing())...)
			highest := int64(0)
			for range 3 {
				got := <-turns
				require.NoError(t, got.err)
				require.Greater(t, got.lock.Fence(), highest)
				highest = got.lock.Fence()
				stored := 0
				for _, n := range c.counters(got.lock.Key()) {
					if n >= highest {
						stored++
					}
				}
				require.GreaterOrEqual(t, stored, 3, "each majority that comes later meets it")
				require.NoError(t, got.lock.Unlock(t.Context()))
			}
			c.requireGone()
		})
	}
}

// A node that grants when it is asked again, but has no counter, counts for a fence as little as it does at first.
func TestANodeWithoutACounterThatIsAskedAgainIsNoVote(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 1, WithFencing(), WithTTL(time.Minute))
		key := c.keyAt(0)
		for _, m := range c.masters[2:] {
			m.hold(key, time.Hour)
		}
		c.masters[2].put("rpush", counterTag+key, "x")
		time.AfterFunc(trip, func() { c.masters[2].put("del", key) })
		_, err := c.Lock(t.Context(), key, WithMaxAttempts(1))
		require.ErrorIs(t, err, ErrNotAcquired)
		require.Equal(t, 2, quorumError(t, err).Granted)
		time.Sleep(recovery)
		require.Empty(t, c.ours())

		c.masters[2].put("del", counterTag+key)
		for _, m := range c.masters[2:] {
			m.hold(key, time.Hour)
		}
		time.AfterFunc(trip, func() { c.masters[2].put("del", key) })
		lock, err := c.Lock(t.Context(), key, WithMaxAttempts(1))
		require.NoError(t, err)
		require.Positive(t, lock.Fence())
		require.NoError(t, lock.Unlock(t.Context()))
	})
}
