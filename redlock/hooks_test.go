package redlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// told collects what the hook is told; read it when nothing runs.
func told(into *[]Attempt) Option {
	return WithHooks(Hooks{Attempt: func(_ context.Context, a Attempt) { *into = append(*into, a) }})
}

func TestTheHookIsToldOfEachAttempt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var all []Attempt
		c := newCluster(t, 5, told(&all), WithBackoff(time.Second, time.Second))
		key := c.keyAt(0) // a canary without the key would say that it is free, which is worth another attempt
		for _, m := range c.masters[:3] {
			m.hold(key, 1500*time.Millisecond)
		}
		c.staggered(time.Millisecond)
		c.each(way{back: 10 * time.Millisecond}, 4)
		_, err := c.Lock(t.Context(), key)
		require.NoError(t, err)
		require.Len(t, all, 3)
		for i, a := range all[:2] {
			require.ErrorIs(t, a.Err, ErrTaken)
			require.ErrorIs(t, a.Err, ErrNotAcquired)
			a.Err = nil
			require.Equal(t, Attempt{Key: key, Number: i + 1, Elapsed: 3 * time.Millisecond, Refused: 3}, a)
		}
		require.Equal(t, Attempt{Key: key, Number: 3, Elapsed: 3 * time.Millisecond, Granted: 3}, all[2])
	})
}

func TestTheHookIsToldWhyAnAttemptFailed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var all []Attempt
		c := newCluster(t, 5, told(&all), WithPrefix("app:"))
		c.arrange([]condition{grants, isTaken, refusesConnection, hangs, hangs}, "app:k")
		for _, m := range c.masters[3:] {
			m.timeout = time.Minute // so that the attempt's own time is up first
		}
		_, err := c.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, ErrNoQuorum)
		require.Len(t, all, 1)
		require.Equal(t, err.Error(), all[0].Err.Error())
		all[0].Err = nil
		require.Equal(t, Attempt{
			Key: "k", Number: 1, Elapsed: nodeTimeout, Granted: 1, Refused: 1, Unknown: 2, Unsent: 1,
		}, all[0])
	})
}

func TestTheHookIsToldOfAttemptsThatTheCallerOrCloseEnded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var all []Attempt
		c := newCluster(t, 5, told(&all))
		for _, m := range c.masters {
			m.stop()
		}
		_, err := c.TryLock(after(t, time.Millisecond), "k")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, all[0].Err, context.DeadlineExceeded)
		require.Equal(t, time.Millisecond, all[0].Elapsed)

		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = c.Lock(t.Context(), "k")
		}()
		synctest.Wait()
		require.Error(t, c.Close(after(t, time.Second)))
		<-done
		require.ErrorIs(t, all[1].Err, ErrClosed)
	})
}

func TestTheHookGetsTheCallersContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	bubble(t, func(t *testing.T) {
		var got any
		c := newCluster(t, 3, WithHooks(Hooks{Attempt: func(ctx context.Context, _ Attempt) { got = ctx.Value(key{}) }}))
		_, err := c.TryLock(context.WithValue(t.Context(), key{}, "span"), "k")
		require.NoError(t, err)
		require.Equal(t, "span", got)
	})
}

func TestAHookThatPanicsBreaksNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		calls := 0
		c := newCluster(t, 5, WithHooks(Hooks{Attempt: func(context.Context, Attempt) {
			calls++
			panic("hook")
		}}))
		lock, err := c.Lock(t.Context(), "k")
		require.NoError(t, err)
		_, err = c.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, ErrTaken)
		_, err = c.Lock(t.Context(), "k", WithMaxAttempts(3))
		require.ErrorIs(t, err, ErrTaken)
		require.Equal(t, 5, calls)
		require.NoError(t, lock.Unlock(t.Context()))
		synctest.Wait()
		require.Empty(t, c.ours())
		require.NoError(t, c.Close(t.Context()))
	})
}

func TestAHookThatIsSlowDelaysItsOwnCallerOnly(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithHooks(Hooks{Attempt: func(_ context.Context, a Attempt) {
			if a.Key == "slow" {
				time.Sleep(time.Hour)
			}
		}}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			lock, err := c.TryLock(t.Context(), "slow")
			check(t, err, nil)
			check(t, lock.Unlock(t.Context()), nil) // Close gave it back in its time
		}()
		synctest.Wait()
		require.Zero(t, took(func() {
			require.NoError(t, c.mustTryLock(t, "k").Unlock(t.Context()))
			require.NoError(t, c.Close(t.Context()))
		}))
		<-done
	})
}

func TestAHookMayUseTheLocker(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var c *cluster
		c = newCluster(t, 3, WithHooks(Hooks{Attempt: func(ctx context.Context, a Attempt) {
			if a.Key != "k" {
				return
			}
			lock, err := c.Lock(ctx, "other")
			require.NoError(t, err)
			require.NoError(t, lock.Unlock(ctx))
		}}))
		require.NoError(t, c.mustTryLock(t, "k").Unlock(t.Context()))
	})
}
