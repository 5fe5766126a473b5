package redlock

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

func TestCloseEndsEveryWaitWithErrClosed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := held(t, time.Hour, WithBackoff(time.Minute, time.Minute))
		const waiters = 10
		ended := make(chan error, waiters)
		for range waiters {
			go func() {
				_, err := c.Lock(t.Context(), "k")
				ended <- err
			}()
		}
		synctest.Wait()
		require.Zero(t, took(func() {
			require.NoError(t, c.Close(t.Context()))
			for range waiters {
				err := <-ended
				require.ErrorIs(t, err, ErrClosed)
				require.NotErrorIs(t, err, ErrTaken)
				require.NotErrorIs(t, err, ErrNotAcquired)
			}
		}))
	})
}

func TestCloseEndsAnAttemptAndWaitsUntilItIsUndone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.staggered(20 * time.Millisecond)
		ended := make(chan error, 1)
		go func() {
			_, err := c.TryLock(t.Context(), "k")
			ended <- err
		}()
		time.Sleep(30 * time.Millisecond)
		require.NoError(t, c.Close(t.Context()))
		require.ErrorIs(t, <-ended, ErrClosed)
		require.Empty(t, c.ours())
	})
}

// gated is a clock that holds up who reads it to undo an attempt, until the gate opens.
type gated struct {
	clock.Clock
	gate chan struct{}
}

func (g gated) Now() time.Duration {
	callers := make([]uintptr, 1)
	runtime.Callers(2, callers)
	if frame, _ := runtime.CallersFrames(callers).Next(); strings.HasSuffix(frame.Function, "(*round).giveUp") {
		<-g.gate
	}
	return g.Clock.Now()
}

// A caller may have been told that its round is lost and not yet have given it back: until it has, nothing is under way or
// owed, and Close must not take that for the end.
func TestCloseWaitsForACallerThatHasYetToUndoItsAttempt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		g := gated{Clock: clock.Monotonic(), gate: make(chan struct{})}
		c := newCluster(t, 5, WithClock(g))
		for _, m := range c.masters[:3] {
			m.hold("k", time.Hour)
		}
		tried, closed := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := c.TryLock(t.Context(), "k")
			tried <- err
		}()
		synctest.Wait()
		require.Len(t, c.ours(), 2, "it is lost, and two nodes carry its key")
		go func() { closed <- c.Close(t.Context()) }()
		synctest.Wait()
		require.Empty(t, closed)
		close(g.gate)
		require.NoError(t, <-closed)
		require.Empty(t, c.ours())
		require.ErrorIs(t, <-tried, ErrTaken)
	})
}

// A call that was let in before Close, and asks the nodes only after it, must not find them closed and say "no quorum".
func TestACallThatIsOvertakenByCloseIsClosed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3)
		call, err := c.call(t.Context(), "trylock", "k", nil)
		require.NoError(t, err)
		require.NoError(t, c.Close(t.Context()))
		lock, r, err := call.attempt(t.Context(), 1, true, nil)
		require.Nil(t, lock)
		require.ErrorIs(t, call.explain(t.Context(), r, err), ErrClosed)
		require.Zero(t, c.sent(""))
	})
}

func TestCallsAfterCloseAreClosedAndSendNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3)
		other := c.With(WithTTL(time.Second))
		require.NoError(t, c.Close(t.Context()))
		for _, l := range []*Locker{c.Locker, other, c.With(WithTTL(time.Minute))} {
			_, err := l.TryLock(t.Context(), "k")
			require.ErrorIs(t, err, ErrClosed)
			_, err = l.Lock(t.Context(), "k")
			require.ErrorIs(t, err, ErrClosed)
		}
		require.Zero(t, c.sent(""))
		require.NoError(t, c.Close(t.Context()))
		require.NoError(t, other.Close(t.Context()))
	})
}

func TestUnlockWorksAfterClose(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithoutReleaseOnClose())
		lock := c.mustTryLock(t, "k")
		late := c.mustTryLock(t, "late")
		require.NoError(t, c.Close(t.Context()))
		require.Len(t, c.ours(), 10, "it leaves alone what is held")
		require.Positive(t, lock.Remaining())
		require.NoError(t, lock.Unlock(t.Context()))
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrUnlocked)
		synctest.Wait() // a release that fails is not repeated any more
		c.each(way{down: errRefused}, 0, 1, 2)
		require.ErrorIs(t, late.Unlock(t.Context()), ErrNoQuorum)
		c.each(way{}, 0, 1, 2)
		require.NoError(t, late.Unlock(t.Context()), "and it can be retried")
		synctest.Wait()
		require.Empty(t, c.ours())
	})
}

func TestClosePaysWhatIsOwed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithTTL(time.Minute))
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		c.each(way{lose: true}, 0, 1, 2)
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrNoQuorum)
		time.AfterFunc(5*time.Second, func() { c.each(way{}, 0, 1, 2) })
		require.LessOrEqual(t, took(func() { require.NoError(t, c.Close(t.Context())) }), 5*time.Second+recovery)
		require.Empty(t, c.ours())
	})
}

func TestCloseWaitsNoLongerThanItsContextOrOneTTL(t *testing.T) {
	t.Parallel()
	errImpatient := errors.New("impatient")
	bubble(t, func(t *testing.T) {
		for patience, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Hour: ttl} {
			c := newCluster(t, 5)
			for _, m := range c.masters[:3] {
				m.stop()
			}
			_, err := c.TryLock(t.Context(), "k")
			require.ErrorIs(t, err, ErrNoQuorum)
			ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errImpatient)
			require.Equal(t, want, took(func() {
				err := c.Close(ctx)
				if want == patience {
					require.ErrorIs(t, err, errImpatient)
				} else {
					require.ErrorIs(t, err, ErrClosed)
				}
			}))
			cancel()
			for _, m := range c.masters[:3] {
				m.resume()
			}
		}
	})
}

// What waits behind the probe of a silent node is told that it will never be sent: there is nobody left who would do it.
func TestCloseLeavesNothingWaitingForASilentNode(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.each(way{lose: true}, 0, 1, 2)
		for range 2 {
			_, err := c.TryLock(t.Context(), "k")
			require.ErrorIs(t, err, ErrNoQuorum)
		}
		go func() { _, _ = c.TryLock(t.Context(), "k") }()
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, c.Close(ended), context.Canceled)
		time.Sleep(2 * nodeTimeout) // what is under way ends
		require.Zero(t, took(func() { require.NoError(t, c.Close(t.Context())) }))
	})
}

func TestCloseMayBeCalledBySeveralAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.staggered(10 * time.Millisecond)
		go func() { _, _ = c.Lock(t.Context(), "k") }()
		synctest.Wait()
		done := make(chan error, 5)
		for range 5 {
			go func() { done <- c.Close(t.Context()) }()
		}
		for range 5 {
			require.NoError(t, <-done)
		}
		require.Empty(t, c.ours())
	})
}
