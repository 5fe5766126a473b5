package redlock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Of several keys it is the queue of the one that is taken to wait in: nobody releases the others.
func TestWhoWaitsForSeveralKeysWaitsForTheOneThatIsTaken(t *testing.T) {
	t.Parallel()
	for _, taken := range []string{"a", "b", "c"} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, 2, unpolled()...)
			turns := make(chan turn, 1)
			lock := c.mustTryLock(t, taken)
			c.queueUp(t.Context(), 1, "a", turns, WithKeys("b", "c"))
			for _, key := range []string{"a", "b", "c"} {
				if key == taken {
					require.Equal(t, c.ids(1), c.waiting(key))
				} else {
					require.Empty(t, c.waiting(key))
				}
			}
			released := time.Now()
			require.NoError(t, lock.Unlock(t.Context()))
			got := c.mustHave(turns)
			require.LessOrEqual(t, got.at.Sub(released), 3*trip)
			c.requireGone()
		})
	}
}

// One after the other of the keys becomes free, and each time the waiter moves on to the queue of the next.
func TestWhoWaitsForSeveralKeysMovesFromQueueToQueue(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 2, unpolled()...)
		turns := make(chan turn, 1)
		var locks []*Lock
		for _, key := range []string{"a", "b", "c"} {
			locks = append(locks, c.mustTryLock(t, key))
		}
		c.queueUp(t.Context(), 1, "c", turns, WithKeys("a", "b"))
		for i, key := range []string{"a", "b", "c"} {
			require.Equal(t, c.ids(1), c.waiting(key))
			require.Empty(t, turns)
			require.NoError(t, locks[i].Unlock(t.Context()))
			time.Sleep(10 * trip)
			require.Empty(t, c.waiting(key))
		}
		c.mustHave(turns)
		c.requireGone()
	})
}

// A lock on several keys is waited for in as many queues, and its release wakes the head of each.
func TestTheReleaseOfSeveralKeysWakesWhoWaitsForAnyOfThem(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 4, unpolled()...)
		turns := make(chan turn, 3)
		lock := c.mustTryLock(t, "a", WithKeys("b", "c"))
		for who, key := range []string{"a", "b", "c"} {
			c.queueUp(t.Context(), who+1, key, turns)
			require.Equal(t, c.ids(who+1), c.waiting(key))
		}
		released := time.Now()
		require.NoError(t, lock.Unlock(t.Context()))
		for range 3 {
			require.LessOrEqual(t, c.mustHave(turns).at.Sub(released), 3*trip)
		}
		c.requireGone()
	})
}

// The queues of a process's calls for different keys have one subscription on a node, and each hint wakes who waits for its key.
func TestWaitersForDifferentKeysShareASubscription(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 2, unpolled()...)
		var keys []string
		for i := 0; len(keys) < 8; i++ {
			if key := string(rune('a' + i)); c.core.canary(key) == 0 {
				keys = append(keys, key)
			}
		}
		turns, locks := make(chan turn, len(keys)), make([]*Lock, len(keys))
		for i, key := range keys {
			locks[i] = c.mustTryLock(t, key)
			c.queueUp(t.Context(), 1, key, turns)
		}
		require.Equal(t, 1, c.masters[0].store.Subscribers())
		for i := range keys {
			at := len(keys) - 1 - i
			released := time.Now()
			require.NoError(t, locks[at].Unlock(t.Context()))
			got := c.mustHave(turns)
			require.Equal(t, keys[at], got.lock.Key())
			require.LessOrEqual(t, got.at.Sub(released), 3*trip)
		}
		c.requireGone()
	})
}

// A prefix is in front of all that belongs to a key.
func TestQueuesAndChannelsStayUnderThePrefix(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 2, append(unpolled(), WithPrefix("app:"))...)
		turns := make(chan turn, 1)
		lock := c.mustTryLock(t, "k")
		c.queueUp(t.Context(), 1, "k", turns)
		require.Equal(t, []string{"app:~q:k"}, c.masters[c.core.canary("app:k")].lists())
		require.EqualValues(t, 1, c.masters[c.core.canary("app:k")].put("publish", "app:~w:"+c.ids(1)[0], "app:~q:k"))
		require.NoError(t, lock.Unlock(t.Context()))
		c.mustHave(turns)
		c.requireGone()
	})
}

// What a process waits for when its Locker is closed it waits for no longer, and nothing of that is left.
func TestWaitersOfALockerThatWasClosedHoldUpNobody(t *testing.T) {
	t.Parallel()
	for _, patience := range []time.Duration{time.Minute, 0} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, 3, unpolled()...)
			turns := make(chan turn, 2)
			lock := c.mustTryLock(t, "k")
			c.queueUp(t.Context(), 1, "k", turns)
			c.queueUp(t.Context(), 2, "k", turns)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_ = c.lockers[1].Close(ctx)
			require.ErrorIs(t, (<-turns).err, ErrClosed)
			time.Sleep(trip)
			released := time.Now() // whether it is still in the queue or not, it does not listen any more
			require.NoError(t, lock.Unlock(t.Context()))
			require.LessOrEqual(t, c.mustHave(turns).at.Sub(released), 3*trip)
			c.requireGone()
		})
	}
}
