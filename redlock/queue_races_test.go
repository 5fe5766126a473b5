package redlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The canary hangs just after it named one, who asks it in vain: that costs a node timeout besides the poll.
func TestACanaryThatHangsOnceItHasNamedSomebodyHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, when := range []time.Duration{trip / 2, trip, 3*trip/2 - 1, 2 * trip} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, 2, WithTTL(time.Minute))
			key, turns := c.keyAt(2), make(chan turn, 1)
			lock := c.mustTryLock(t, key)
			c.queueUp(t.Context(), 1, key, turns)
			time.AfterFunc(when, c.masters[2].stop)
			released := time.Now()
			require.NoError(t, lock.Unlock(t.Context()))
			got := c.mustHave(turns)
			require.LessOrEqual(t, got.at.Sub(released), nodeTimeout+2*pollBound, "%v", when)
			c.masters[2].resume()
		})
	}
}

// Callers of one process for different sets of keys have one place in the queue of a key that they share. Who is behind is not
// woken by a hint, then, but never waits for longer than a poll.
func TestCallersOfOneProcessForKeysThatOverlapWaitNoLongerThanAPoll(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 2, WithTTL(time.Minute))
		turns := make(chan turn, 2)
		lock := c.mustTryLock(t, "a")
		c.queueUp(t.Context(), 1, "a", turns)
		c.queueUp(t.Context(), 1, "a", turns, WithKeys("b"))
		require.Equal(t, c.ids(1), c.waiting("a"))
		released := time.Now()
		require.NoError(t, lock.Unlock(t.Context()))
		for range 2 {
			got := c.mustHave(turns)
			require.LessOrEqual(t, got.at.Sub(released), pollBound+c.core.yield(3*trip, c.terms)+4*trip)
			released = got.at
		}
		c.requireGone()
	})
}

// An answer to the last question may come while the caller looks already which key refused.
func TestAnAnswerThatComesLateDisturbsNobodyWhoReadsWhichKeyRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 1, WithTTL(time.Minute))
		keys := []string{c.keyAt(0)}
		for i := 0; len(keys) < 2; i++ {
			if key := string(rune('a' + i)); c.core.canary(key) == 0 {
				keys = append(keys, key)
			}
		}
		for _, m := range c.masters[1:4] {
			m.hold(keys[1], time.Hour)
			m.timeout = time.Hour
		}
		for i := range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			time.AfterFunc(3*trip/2, func() { // the first question is answered, the next one late
				c.each(way{out: trip / 2, back: nodeTimeout + time.Duration(i)*time.Millisecond}, 1, 2, 3)
			})
			_, err := c.Lock(ctx, keys[0], WithKeys(keys[1]))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
			c.each(way{out: trip / 2, back: trip / 2}, 1, 2, 3)
			time.Sleep(time.Second)
		}
		c.settle(t)
	})
}

// A call that is kept by a hook while its Locker is closed opens nothing any more.
func TestAfterCloseNobodySubscribes(t *testing.T) {
	t.Parallel()
	for attempt := 1; attempt <= 2; attempt++ {
		bubble(t, func(t *testing.T) {
			inside, goOn := make(chan struct{}), make(chan struct{})
			c := newCrew(t, 1, WithHooks(Hooks{Attempt: func(_ context.Context, a Attempt) {
				if a.Number == attempt {
					close(inside)
					<-goOn
				}
			}}))
			for _, m := range c.masters {
				m.hold("k", time.Hour)
			}
			turns := make(chan turn, 1)
			c.queueUp(t.Context(), 0, "k", turns)
			<-inside
			require.NoError(t, c.Close(t.Context()))
			before := c.sent("")
			close(goOn)
			check(t, (<-turns).err, ErrClosed)
			synctest.Wait()
			for i, m := range c.masters {
				if m.ears.Load() > 0 {
					t.Errorf("somebody listens at node %d after attempt %d", i, attempt)
				}
			}
			time.Sleep(2 * time.Second)
			require.Equal(t, before, c.sent(""), "after attempt %d", attempt)
		})
	}
}

// Nobody is told by hints in a process that closed: its ears are gone with Close, whoever waited.
func TestCloseEndsEverySubscriptionAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 2, unpolled()...)
		turns := make(chan turn, 1)
		lock := c.mustTryLock(t, "k")
		c.queueUp(t.Context(), 1, "k", turns)
		require.NoError(t, lock.Unlock(t.Context()))
		c.mustHave(turns) // the ear lingers
		ears := func() (n int32) {
			for _, m := range c.masters {
				n += m.ears.Load()
			}
			return n
		}
		require.EqualValues(t, 1, ears())
		require.NoError(t, c.lockers[1].Close(t.Context()))
		synctest.Wait()
		require.Zero(t, ears())
		time.Sleep(2 * time.Second)
	})
}

// Whoever waits for one key again and again keeps one subscription meanwhile.
func TestASubscriptionOutlastsTheWaitByAMoment(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 2, unpolled()...)
		key, turns := c.keyAt(1), make(chan turn, 1)
		wait := func() {
			lock := c.mustTryLock(t, key)
			c.queueUp(t.Context(), 1, key, turns)
			require.NoError(t, lock.Unlock(t.Context()))
			c.mustHave(turns)
		}
		subscribed := c.masters[1].subscriptions
		wait()
		for range 5 {
			time.Sleep(earLinger - 20*trip)
			require.Equal(t, 1, c.masters[1].store.Subscribers())
			wait()
		}
		require.Equal(t, 1, subscribed())
		time.Sleep(earLinger + trip)
		require.Zero(t, c.masters[1].store.Subscribers())
		wait()
		require.Equal(t, 2, subscribed())
		c.requireGone()
	})
}
