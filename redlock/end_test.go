package redlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// watchers wait for the end in every way there is; the channel gets the time when each of them was told.
func watchers(t *testing.T, lock *Lock, n int) (ends chan time.Time) {
	t.Helper()
	ends = make(chan time.Time, 2*n)
	for range n {
		done := lock.Done()
		ctx, cancel := lock.Context(t.Context())
		t.Cleanup(cancel)
		go func() {
			<-done
			ends <- time.Now()
		}()
		go func() {
			<-ctx.Done()
			ends <- time.Now()
		}()
	}
	return ends
}

func TestTheEndIsToldExactlyAtTheEndOfValidityWithoutTheNetwork(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		start := time.Now()
		lock := c.mustHold(t, "k")
		for _, m := range c.masters {
			m.stop()
		}
		before := c.sent("")
		const n = 20
		ends := watchers(t, lock, n)
		for range 2 * n {
			require.Equal(t, start.Add(validity), <-ends)
		}
		require.ErrorIs(t, lock.Err(), ErrLost)
		require.Zero(t, lock.Remaining())
		require.Equal(t, before, c.sent(""))
	})
}

func TestEveryExtendMovesTheEndAndTheLastOneCounts(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		ends := watchers(t, lock, 3)
		for range 7 {
			time.Sleep(ttl / 3)
			require.NoError(t, lock.Extend(t.Context()))
			require.Equal(t, validity, lock.Remaining())
		}
		last := time.Now()
		require.Empty(t, ends)
		for range 6 {
			require.Equal(t, last.Add(validity), <-ends)
		}
		require.ErrorIs(t, lock.Err(), ErrLost)
	})
}

func TestAMaximumHoldEndsTheLockWhateverIsExtended(t *testing.T) {
	t.Parallel()
	const hold = 15 * time.Second
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithMaxHold(hold))
		start := time.Now()
		lock := c.mustHold(t, "k")
		require.Equal(t, validity, lock.Remaining(), "until then it lasts as any other")
		ends := watchers(t, lock, 1)
		time.Sleep(8 * time.Second)
		require.NoError(t, lock.Extend(t.Context()))
		require.Equal(t, 7*time.Second, lock.Remaining())
		time.Sleep(6 * time.Second)
		require.NoError(t, lock.Extend(t.Context()))
		require.Equal(t, time.Second, lock.Remaining())
		require.Equal(t, start.Add(hold), <-ends)
		require.Equal(t, start.Add(hold), <-ends)
		require.ErrorIs(t, lock.Err(), ErrLost)
		require.ErrorIs(t, lock.Extend(t.Context()), ErrLost)
	})
}

func TestAMaximumHoldCountsFromBeforeTheLockWasAskedFor(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithMaxHold(ttl))
		c.each(way{back: 100 * time.Millisecond}, 0, 1, 2, 3, 4)
		start := time.Now()
		lock := c.mustTryLock(t, "k")
		require.Equal(t, validity-100*time.Millisecond, lock.Remaining(), "the drift counts although the hold is longer")
		time.Sleep(time.Second)
		require.NoError(t, lock.Extend(t.Context()))
		require.Equal(t, start.Add(ttl), time.Now().Add(lock.Remaining()))
		<-lock.Done()
		require.Equal(t, start.Add(ttl), time.Now())
	})
}

// Timers stand still while a system is suspended. What wakes it is looked at within a tenth of a second.
func TestTheEndIsToldWithinATenthOfASecondOfWaking(t *testing.T) {
	t.Parallel()
	for _, awake := range []time.Duration{0, 1, 50 * time.Millisecond, 999 * time.Millisecond} {
		bubble(t, func(t *testing.T) {
			s := &suspended{Clock: clock.Monotonic()}
			c := newCluster(t, 5, WithClock(s))
			lock := c.mustHold(t, "k")
			ends := watchers(t, lock, 2)
			time.Sleep(awake)
			require.Empty(t, ends)
			woke := time.Now()
			s.slept.Store(int64(time.Hour))
			require.Zero(t, lock.Remaining(), "who asks hears it at once")
			if awake > 0 {
				require.ErrorIs(t, lock.Err(), ErrLost)
			}
			for range 4 {
				require.LessOrEqual(t, (<-ends).Sub(woke), 100*time.Millisecond)
			}
		})
	}
}

func TestALockThatNobodyAsksAboutTellsItsWatchersAfterASuspend(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := &suspended{Clock: clock.Monotonic()}
		c := newCluster(t, 5, WithClock(s))
		lock := c.mustHold(t, "k")
		ends := watchers(t, lock, 1)
		time.Sleep(150 * time.Millisecond)
		s.slept.Store(int64(validity - time.Second))
		time.Sleep(200 * time.Millisecond)
		require.Empty(t, ends, "a shorter one ends nothing")
		s.slept.Store(int64(validity))
		woke := time.Now()
		require.LessOrEqual(t, (<-ends).Sub(woke), 100*time.Millisecond)
		require.LessOrEqual(t, (<-ends).Sub(woke), 100*time.Millisecond)
	})
}

func TestTheCauseOfAnEndedContextSaysHowTheLockEnded(t *testing.T) {
	t.Parallel()
	ways := map[string]struct {
		end  func(t *testing.T, c *cluster, lock *Lock)
		want error
	}{
		"unlocked": {func(t *testing.T, _ *cluster, lock *Lock) { require.NoError(t, lock.Unlock(t.Context())) }, ErrUnlocked},
		"left":     {func(t *testing.T, _ *cluster, lock *Lock) { require.NoError(t, lock.Leave(t.Context(), time.Minute)) }, ErrUnlocked},
		"detached": {func(t *testing.T, _ *cluster, lock *Lock) { require.NotEmpty(t, lock.Detach()) }, ErrUnlocked},
		"closed":   {func(t *testing.T, c *cluster, _ *Lock) { require.NoError(t, c.Close(t.Context())) }, ErrUnlocked},
		"run out":  {func(*testing.T, *cluster, *Lock) { time.Sleep(validity) }, ErrLost},
		"proven to be lost": {func(t *testing.T, c *cluster, lock *Lock) {
			for _, m := range c.masters[:3] {
				m.forget()
			}
			require.ErrorIs(t, lock.Extend(t.Context()), ErrLost)
		}, ErrLost},
	}
	for name, tt := range ways {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			lock := c.mustHold(t, "k")
			type key struct{}
			ctx, cancel := lock.Context(context.WithValue(t.Context(), key{}, "v"))
			defer cancel()
			done := lock.Done()
			require.NoError(t, lock.Err(), name)
			tt.end(t, c, lock)
			synctest.Wait()
			require.False(t, pending(done), name)
			require.ErrorIs(t, ctx.Err(), context.Canceled, name)
			require.ErrorIs(t, context.Cause(ctx), tt.want, name)
			require.ErrorIs(t, lock.Err(), tt.want, name)
			require.Equal(t, "v", ctx.Value(key{}), name)
			late, cancelLate := lock.Context(t.Context())
			defer cancelLate()
			require.ErrorIs(t, context.Cause(late), tt.want, "one made after the end has ended")
			require.False(t, pending(lock.Done()), name)
		})
	}
}

// What was once said is never taken back, whatever is called after it.
func TestALockEndsOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lost, given := c.mustHold(t, "lost"), c.mustHold(t, "given")
		require.NoError(t, given.Unlock(t.Context()))
		time.Sleep(validity)
		require.ErrorIs(t, lost.Err(), ErrLost)
		said := lost.Err()
		for range 2 {
			_ = lost.Unlock(t.Context())
			_ = lost.Leave(t.Context(), time.Second)
			_ = lost.Extend(t.Context())
			require.Empty(t, lost.Detach())
			require.Same(t, said, lost.Err())
			require.ErrorIs(t, given.Err(), ErrUnlocked)
			require.NotErrorIs(t, given.Err(), ErrLost)
		}
	})
}

func TestCancellingAContextOfALockUnlocksNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustHold(t, "k")
		ctx, cancel := lock.Context(t.Context())
		cancel()
		cancel()
		require.ErrorIs(t, context.Cause(ctx), context.Canceled)
		require.NoError(t, lock.Err())
		require.True(t, pending(lock.Done()))
		require.Len(t, c.carriers(lock), 5)

		errParent := errors.New("the parent's")
		parent, end := context.WithCancelCause(t.Context())
		child, stop := lock.Context(parent)
		defer stop()
		end(errParent)
		require.ErrorIs(t, context.Cause(child), errParent)
		require.NoError(t, lock.Err())
		require.NoError(t, lock.Unlock(t.Context()))
		require.ErrorIs(t, context.Cause(child), errParent, "the first end stands")
	})
}

func TestContextsOfALockDoNotPileUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustHold(t, "k")
		parent, end := context.WithCancel(t.Context())
		for range 100 {
			_, cancel := lock.Context(parent)
			t.Cleanup(cancel)
			_, cancelled := lock.Context(t.Context())
			cancelled()
		}
		end()
		synctest.Wait()
		lock.mu.Lock()
		defer lock.mu.Unlock()
		require.Empty(t, lock.heirs)
	})
}

func TestALockThatNobodyWatchesSetsNoTimer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustHold(t, "k")
		c.core.vigil.mu.Lock()
		require.Nil(t, c.core.vigil.armed)
		c.core.vigil.mu.Unlock()
		lock.Done()
		other := c.mustHold(t, "other")
		other.Done()
		require.NoError(t, lock.Unlock(t.Context()))
		require.NoError(t, other.Unlock(t.Context()))
		c.core.vigil.mu.Lock()
		defer c.core.vigil.mu.Unlock()
		require.Nil(t, c.core.vigil.armed, "nor does one that was given up")
		require.Empty(t, c.core.vigil.heap)
	})
}

func TestEachLockEndsAtItsOwnTimeWhateverTheOthersDo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 3)
		start := time.Now()
		var locks []*Lock
		for _, life := range []time.Duration{9, 3, 7, 5, 1, 8, 2, 6, 4} {
			lock := c.mustHold(t, "k"+life.String(), WithTTL(life*time.Second))
			lock.Done()
			locks = append(locks, lock)
		}
		require.NoError(t, locks[4].Unlock(t.Context()))
		time.Sleep(900 * time.Millisecond)
		require.NoError(t, locks[1].Extend(t.Context()))
		for i, lock := range locks {
			want := lock.round().terms.ttl - lock.round().terms.drift
			if i == 1 {
				want += 900 * time.Millisecond
			}
			go func() {
				<-lock.Done()
				if got := time.Since(start); i != 4 && got != want {
					t.Errorf("lock %d ended after %v, not %v", i, got, want)
				}
			}()
		}
		time.Sleep(ttl)
	})
}

// The timer that is set for a look at the clock must not make a lock that ends before it wait.
func TestALockThatEndsSoonIsNotHeldUpByOneThatEndsLate(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, WithNodeTimeout(time.Millisecond))
		c.mustHold(t, "late").Done()
		soon := c.mustHold(t, "soon", WithTTL(20*time.Millisecond), WithMaxHold(20*time.Millisecond))
		require.Equal(t, soon.Remaining(), took(func() { <-soon.Done() }))
	})
}

func TestDoneOfALockThatHasEndedIsClosed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3)
		lock := c.mustHold(t, "k")
		require.NoError(t, lock.Unlock(t.Context()))
		require.False(t, pending(lock.Done()))
		require.Empty(t, c.core.vigil.heap)
	})
}

func TestWhatIsNoLockHasEnded(t *testing.T) {
	t.Parallel()
	for _, k := range []*Lock{nil, {}} {
		require.False(t, pending(k.Done()))
		require.ErrorIs(t, k.Err(), ErrUnlocked)
		ctx, cancel := k.Context(t.Context())
		cancel()
		require.ErrorIs(t, context.Cause(ctx), ErrUnlocked)
		require.ErrorIs(t, k.Extend(t.Context()), ErrUnlocked)
		require.ErrorIs(t, k.KeepAlive(t.Context()), ErrUnlocked)
		require.ErrorIs(t, k.Leave(t.Context(), time.Second), ErrUnlocked)
		require.Empty(t, k.Detach())
		require.Zero(t, k.Fence())
	}
}
