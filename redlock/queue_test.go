package redlock

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAReleaseWakesWhoWaitsInAnotherProcess(t *testing.T) {
	t.Parallel()
	for node := range 5 { // whichever the canary is
		bubble(t, func(t *testing.T) {
			c := newCrew(t, 2, unpolled()...)
			key, turns := c.keyAt(node), make(chan turn, 1)
			lock := c.mustTryLock(t, key)
			c.queueUp(t.Context(), 1, key, turns)
			require.Equal(t, c.ids(1), c.waiting(key))
			released := time.Now()
			require.NoError(t, lock.Unlock(t.Context()))
			got := c.mustHave(turns)
			// The release and the hint are one round trip, the question the other.
			require.Equal(t, 2*trip, got.at.Sub(released))
			c.requireGone()
		})
	}
}

func TestProcessesAreServedInTheOrderInWhichTheyCame(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const waiters = 8
		c := newCrew(t, waiters+1, unpolled()...)
		turns := make(chan turn, waiters)
		lock := c.mustTryLock(t, "k")
		order := []int{3, 1, 8, 5, 2, 7, 4, 6}
		for _, who := range order {
			c.queueUp(t.Context(), who, "k", turns)
		}
		require.Equal(t, c.ids(order...), c.waiting("k"))
		require.NoError(t, lock.Unlock(t.Context()))
		var served []int
		elapsed := took(func() {
			for range order {
				served = append(served, c.mustHave(turns).who)
			}
		})
		require.Equal(t, order, served)
		require.LessOrEqual(t, elapsed, waiters*4*trip)
		c.requireGone()
	})
}

// Whoever comes back at once has to wait for the others' turns.
func TestProcessesThatComeBackAtOnceTakeTurns(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const lockers, each = 4, 20
		c := newCrew(t, lockers, WithTTL(time.Minute))
		var served []int
		over := make(chan struct{}, lockers)
		for who := range lockers {
			go func() {
				defer func() { over <- struct{}{} }()
				for range each {
					lock, err := c.lockers[who].Lock(t.Context(), "k")
					check(t, err, nil)
					served = append(served, who) // under the lock
					time.Sleep(trip)
					check(t, lock.Unlock(t.Context()), nil)
				}
			}()
		}
		for range lockers {
			<-over
		}
		require.Len(t, served, lockers*each)
		from, to := settled(served, lockers, 3), ended(served, each)
		require.Less(t, from, lockers*each/2, "%v: who came first kept the others waiting", served)
		for i := from; i+lockers <= to; i++ {
			window := slices.Sorted(slices.Values(served[i : i+lockers]))
			require.Len(t, slices.Compact(window), lockers, "%v: one was served twice before another was once", served)
		}
		c.requireGone()
	})
}

// settled is how many turns it took until each had so many: before, not all are subscribed, and who comes first may come again.
func settled(served []int, lockers, each int) int {
	had, full := make(map[int]int), 0
	for i, who := range served {
		if had[who]++; had[who] == each {
			full++
		}
		if full == lockers {
			return i + 1
		}
	}
	return len(served)
}

// ended is how many turns it took until one had them all, and came no more.
func ended(served []int, each int) int {
	had := make(map[int]int)
	for i, who := range served {
		if had[who]++; had[who] == each {
			return i + 1
		}
	}
	return len(served)
}

func TestTheNextCallerHereStandsBackForWhoWasNamed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 2, unpolled()...)
		turns := make(chan turn, 3)
		first, err := c.Lock(t.Context(), "k")
		require.NoError(t, err)
		c.queueUp(t.Context(), 1, "k", turns)
		c.queueUp(t.Context(), 0, "k", turns) // it is the head of its line, and so waits in the queue too
		c.queueUp(t.Context(), 0, "k", turns)
		require.NoError(t, first.Unlock(t.Context()))
		require.Equal(t, []int{1, 0, 0}, []int{c.mustHave(turns).who, c.mustHave(turns).who, c.mustHave(turns).who})
		c.requireGone()
	})
}

func TestAHintThatIsLostCostsNoMoreThanAPoll(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 2, WithTTL(time.Minute))
		turns := make(chan turn, 1)
		lock := c.mustTryLock(t, "k")
		c.queueUp(t.Context(), 1, "k", turns)
		c.each(way{out: trip / 2, back: trip / 2, mute: true}, 0, 1, 2, 3, 4)
		released := time.Now()
		require.NoError(t, lock.Unlock(t.Context()))
		got := c.mustHave(turns)
		require.Greater(t, got.at.Sub(released), 3*trip, "else it was no poll")
		require.LessOrEqual(t, got.at.Sub(released), pollBound+c.core.yield(3*trip, c.terms)+3*trip)
		c.requireGone()
	})
}

// The hint is on its way to one who is leaving at that moment: the next must not wait for a poll.
func TestWhoIsNamedAndHasLeftPassesItOn(t *testing.T) {
	t.Parallel()
	for _, when := range []time.Duration{
		trip / 4, trip / 2, 3 * trip / 4, trip, trip + 1, 5 * trip / 4, 3 * trip / 2, 7 * trip / 4, 2*trip - 1,
	} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, 3, unpolled()...)
			ctx, cancel := context.WithCancel(t.Context())
			leaves, stays := make(chan turn, 1), make(chan turn, 1)
			lock := c.mustTryLock(t, "k")
			c.queueUp(ctx, 1, "k", leaves)
			c.queueUp(t.Context(), 2, "k", stays)
			time.AfterFunc(when, cancel)
			released := time.Now()
			require.NoError(t, lock.Unlock(t.Context()))
			gone := <-leaves
			require.ErrorIs(t, gone.err, context.Canceled)
			require.Equal(t, when, gone.at.Sub(released))
			got := c.mustHave(stays)
			require.LessOrEqual(t, got.at.Sub(released), when+5*trip, "%v", when)
			c.requireGone()
		})
	}
}

func TestWhoGivesUpLeavesTheQueue(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 4, unpolled()...)
		turns := make(chan turn, 3)
		lock := c.mustTryLock(t, "k")
		var cancels []context.CancelFunc
		for who := 1; who <= 3; who++ {
			ctx, cancel := context.WithCancel(t.Context())
			cancels = append(cancels, cancel)
			c.queueUp(ctx, who, "k", turns)
		}
		require.Equal(t, c.ids(1, 2, 3), c.waiting("k"))
		for i, left := range [][]string{c.ids(1, 3), c.ids(3), nil} {
			cancels[[]int{1, 0, 2}[i]]()
			require.ErrorIs(t, (<-turns).err, context.Canceled)
			time.Sleep(trip)
			require.Equal(t, left, c.waiting("k"))
		}
		require.Zero(t, c.sent("hand"), "nobody is named while the lock is held")
		require.NoError(t, lock.Unlock(t.Context()))
		c.requireGone()
	})
}

func TestWhoWaitsIsCounted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 4, unpolled()...)
		key, turns := c.keyAt(3), make(chan turn, 3)
		lock := c.mustTryLock(t, key)
		for who := 1; who <= 3; who++ {
			c.queueUp(t.Context(), who, key, turns)
		}
		c.queueUp(t.Context(), 1, key, turns) // behind its process's own head, which is all that the nodes know of
		seen, err := c.Inspect(t.Context(), key)
		require.NoError(t, err)
		for i, n := range seen.Nodes {
			require.Equal(t, map[bool]int{true: 3, false: 0}[i == 3], n.Waits, "node %d", i)
		}
		require.NoError(t, lock.Unlock(t.Context()))
		for range 4 {
			c.mustHave(turns)
		}
		synctest.Wait()
		c.requireGone()
	})
}
