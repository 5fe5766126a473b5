package redlock

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// keeping runs KeepAlive and returns what becomes of it.
func keeping(ctx context.Context, lock *Lock) (ended chan error) {
	ended = make(chan error, 1)
	go func() { ended <- lock.KeepAlive(ctx) }()
	return ended
}

// renewals are the moments, since start, at which Extends left for a master.
func (m *master) renewals(start time.Time) (at []time.Duration) {
	for _, r := range m.requests("extend") {
		at = append(at, r.at.Sub(start))
	}
	return at
}

func TestALockIsRenewedAtEveryThirdOfItsTTLRoundedDownToASlot(t *testing.T) {
	t.Parallel()
	for life, want := range map[time.Duration][]time.Duration{
		10 * time.Second: {3300 * time.Millisecond, 6600 * time.Millisecond, 9900 * time.Millisecond, 13200 * time.Millisecond},
		time.Second:      {330 * time.Millisecond, 660 * time.Millisecond, 990 * time.Millisecond, 1320 * time.Millisecond},
		9 * time.Second:  {3 * time.Second, 6 * time.Second, 9 * time.Second, 12 * time.Second},
	} {
		bubble(t, func(t *testing.T) {
			start := time.Now()
			c := primed(t, 3, WithTTL(life))
			lock := c.mustHold(t, "k")
			ended := keeping(t.Context(), lock)
			time.Sleep(want[3] + life/10)
			require.Equal(t, want, c.masters[0].renewals(start))
			require.NoError(t, lock.Unlock(t.Context()))
			require.NoError(t, <-ended)
			time.Sleep(life)
			require.Len(t, c.masters[0].renewals(start), len(want), "and never again")
		})
	}
}

func TestKeepAliveEndsWithWhatEndedIt(t *testing.T) {
	t.Parallel()
	ways := map[string]struct {
		end  func(t *testing.T, c *cluster, lock *Lock, cancel context.CancelFunc)
		want error
	}{
		"unlocked": {func(t *testing.T, _ *cluster, lock *Lock, _ context.CancelFunc) {
			check(t, lock.Unlock(t.Context()), nil)
		}, nil},
		"left": {func(t *testing.T, _ *cluster, lock *Lock, _ context.CancelFunc) {
			check(t, lock.Leave(t.Context(), time.Second), nil)
		}, nil},
		"detached":  {func(_ *testing.T, _ *cluster, lock *Lock, _ context.CancelFunc) { lock.Detach() }, nil},
		"cancelled": {func(_ *testing.T, _ *cluster, _ *Lock, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"closed":    {func(t *testing.T, c *cluster, _ *Lock, _ context.CancelFunc) { check(t, c.Close(t.Context()), nil) }, ErrClosed},
		"lost": {func(_ *testing.T, c *cluster, _ *Lock, _ context.CancelFunc) {
			for _, m := range c.masters {
				m.forget()
			}
		}, ErrLost},
	}
	for name, tt := range ways {
		for round := range 20 { // several ends may be there at once, and which is taken must not depend on chance
			bubble(t, func(t *testing.T) {
				c := primed(t, 5)
				lock := c.mustHold(t, "k")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := keeping(ctx, lock)
				time.Sleep(20*time.Second + time.Duration(round))
				tt.end(t, c, lock, cancel)
				require.Less(t, took(func() { require.ErrorIs(t, <-ended, tt.want, name) }), ttl/3)
				time.Sleep(time.Second)
			})
		}
	}
}

// An Extend may be under way when the lock ends: the end counts, not what the call makes of it.
func TestKeepAliveSaysLostEvenIfItsContextEndsWithTheLock(t *testing.T) {
	t.Parallel()
	for range 20 {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5, WithTTL(2*time.Second))
			lock := c.mustHold(t, "k")
			ctx, cancel := lock.Context(t.Context())
			defer cancel()
			for _, m := range c.masters {
				m.stop()
			}
			require.ErrorIs(t, lock.KeepAlive(ctx), ErrLost)
			for _, m := range c.masters {
				m.resume()
			}
			time.Sleep(time.Second)
		})
	}
}

func TestALockLivesOnToItsEndWhenItsKeepAliveIsCancelled(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.Equal(t, time.Minute, took(func() { require.ErrorIs(t, lock.KeepAlive(ctx), context.DeadlineExceeded) }))
		require.NoError(t, lock.Err())
		left := lock.Remaining()
		require.Equal(t, left, took(func() { <-lock.Done() }))
		time.Sleep(drift)
		require.Empty(t, c.ours(), "a holder that is gone keeps nothing for longer than a TTL")
	})
}

func TestTheSecondKeepAliveIsInvalidWhileTheFirstIsUnderWay(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		ctx, cancel := context.WithCancel(t.Context())
		first := keeping(ctx, lock)
		synctest.Wait()
		err := lock.KeepAlive(t.Context())
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, `lock "k" is kept alive already`)
		cancel()
		require.ErrorIs(t, <-first, context.Canceled)
		second := keeping(t.Context(), lock)
		time.Sleep(time.Minute)
		require.NoError(t, lock.Err(), "after it there can be another")
		require.NoError(t, lock.Unlock(t.Context()))
		require.NoError(t, <-second)
	})
}

// F26: one failed renewal is no loss.
func TestABlipOfAMajorityDoesNotLoseALock(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]way{"refused": {down: errRefused}, "hung": {lose: true}, "reply lost": {drop: true}} {
		for at := range 30 {
			bubble(t, func(t *testing.T) {
				var told recorded
				c := primed(t, 5, WithTTL(3*time.Second), WithHooks(told.hooks()))
				lock := c.mustHold(t, "k")
				ended := keeping(t.Context(), lock)
				time.Sleep(time.Duration(at) * 100 * time.Millisecond)
				c.each(w, 0, 1, 2)
				time.Sleep(time.Second)
				c.each(way{}, 0, 1, 2)
				time.Sleep(10 * time.Second)
				require.NoError(t, lock.Err(), "%s at %d", name, at)
				require.NoError(t, lock.Unlock(t.Context()))
				require.NoError(t, <-ended)
				require.Empty(t, of[Loss](&told))
			})
		}
	}
}

func TestRenewalIsRetriedFasterUntilValidityRunsOutAndThenSaysLost(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		start := time.Now()
		var told recorded
		c := primed(t, 5, WithHooks(told.hooks()))
		lock := c.mustHold(t, "k")
		c.each(bars("BUSY Redis is busy.", 0), 0, 1, 2) // an answer, so that the node is asked again at once
		require.Equal(t, validity, took(func() { require.ErrorIs(t, lock.KeepAlive(t.Context()), ErrLost) }))
		at := c.masters[0].renewals(start)
		require.Equal(t, 3300*time.Millisecond, at[0])
		for i, now := range at[1:] {
			require.LessOrEqual(t, now-at[i], ttl/20, "renewal %d", i)
		}
		require.Less(t, validity-at[len(at)-1], 10*time.Millisecond, "and the oftener the less is left")
		require.Less(t, len(at), 100, "but it is no storm")
		synctest.Wait()
		require.Len(t, of[Loss](&told), 1)
		require.Len(t, of[Jeopardy](&told), len(at))
	})
}

func TestAMaximumHoldEndsAKeptLockAndItsRenewal(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		start := time.Now()
		c := primed(t, 5, WithMaxHold(time.Minute))
		lock := c.mustHold(t, "k")
		require.Equal(t, time.Minute, took(func() { require.ErrorIs(t, lock.KeepAlive(t.Context()), ErrLost) }))
		at := c.masters[0].renewals(start)
		require.GreaterOrEqual(t, at[len(at)-1], time.Minute-validity, "while it is of use")
		require.LessOrEqual(t, at[len(at)-1], time.Minute-validity+ttl/3, "and no longer")
	})
}

// Renewals of one Locker that fall into the same slot leave together.
func TestAThousandLocksShareTheirRoundTrips(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 3)
		c.each(way{back: time.Millisecond}, 0, 1, 2)
		const locks, cycles = 1000, 3
		var all []*Lock
		ended := make(chan error, locks)
		for i := range locks {
			lock := c.mustTryLock(t, fmt.Sprint("k", i)) // takes a millisecond, so they spread over a second: 20 slots
			all = append(all, lock)
			go func() { ended <- lock.KeepAlive(t.Context()) }()
		}
		before := c.masters[0].batchCount()
		time.Sleep(cycles * ttl / 3)
		batches := c.masters[0].batchCount() - before
		require.LessOrEqual(t, batches, cycles*22*3, "at most three pipelines a slot")
		require.GreaterOrEqual(t, len(c.masters[0].requests("extend")), (cycles-1)*locks)
		t.Logf("%d renewals in %d pipelines", len(c.masters[0].requests("extend")), batches)
		for _, lock := range all {
			require.NoError(t, lock.Err())
		}
		require.NoError(t, c.Close(t.Context()))
		for range locks {
			require.ErrorIs(t, <-ended, ErrClosed)
		}
		require.Empty(t, c.ours())
		c.core.wheel.mu.Lock()
		defer c.core.wheel.mu.Unlock()
		require.Empty(t, c.core.wheel.slots, "no timer is left")
	})
}

func (m *master) batchCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.batches
}

// The timers of renewals stand still during a suspend as all do. What falls due meanwhile is made up for at once.
func TestARenewalThatFellDueDuringASuspendIsMadeUpForOnWaking(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := &suspended{Clock: clock.Monotonic()}
		c := primed(t, 5, WithClock(s))
		lock := c.mustHold(t, "k")
		ended := keeping(t.Context(), lock)
		time.Sleep(time.Second)
		for i := range 5 {
			s.slept.Add(int64(8 * time.Second)) // of ten less the drift: time enough to extend it
			time.Sleep(101 * time.Millisecond)
			require.NoError(t, lock.Err(), "suspend %d", i)
			require.Greater(t, lock.Remaining(), validity-time.Second/5, "suspend %d", i)
			time.Sleep(time.Second)
		}
		require.NoError(t, lock.Unlock(t.Context()))
		require.NoError(t, <-ended)
	})
}
