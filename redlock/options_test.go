package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnOptionOfACallOverridesWithAndWithOverridesNew(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, WithTTL(20*time.Second))
		with := c.With(WithTTL(30 * time.Second))
		told := func(l *Locker, opts ...LockOption) time.Duration {
			lock, err := l.TryLock(t.Context(), "k", opts...)
			require.NoError(t, err)
			require.NoError(t, lock.Unlock(t.Context()))
			sets := c.masters[0].requests("set")
			return sets[len(sets)-1].ttl
		}
		require.Equal(t, 20*time.Second, told(c.Locker))
		require.Equal(t, 30*time.Second, told(with))
		require.Equal(t, 40*time.Second, told(with, WithTTL(40*time.Second)))
		require.Equal(t, 41*time.Second, told(with, WithTTL(40*time.Second), WithTTL(41*time.Second)), "the last one counts")
		require.Equal(t, 30*time.Second, told(with), "a call leaves the defaults as they were")
		require.Equal(t, 50*time.Second, told(with.With(WithTTL(50*time.Second))))
		require.Equal(t, 20*time.Second, told(c.Locker), "With leaves the Locker as it was")
		require.Equal(t, 20*time.Second, told(c.With()))
	})
}

func TestWithChangesTheDefaultsOfWaiting(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := held(t, time.Hour)
		l := c.With(WithBackoff(3*time.Second, 3*time.Second), WithMaxAttempts(3))
		require.Equal(t, 6*time.Second, took(func() {
			_, err := l.Lock(t.Context(), "k")
			require.ErrorIs(t, err, ErrTaken)
		}))
		require.Zero(t, took(func() {
			_, err := l.Lock(t.Context(), "k", WithMaxAttempts(1))
			require.ErrorIs(t, err, ErrTaken)
		}))
	})
}

func TestThePrefixIsOnTheWireAndNotInTheKey(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, WithPrefix("app:"))
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		require.Equal(t, "k", lock.Key())
		require.ElementsMatch(t, []string{"node 0: app:k", "node 1: app:k", "node 2: app:k"}, c.ours())
		_, err := c.TryLock(t.Context(), "k")
		require.Equal(t, "k", quorumError(t, err).Key)
		require.NoError(t, lock.Unlock(t.Context()))
		synctest.Wait()
		require.Empty(t, c.ours())
	})
}

// A lock's option is a default in New; that an option of the whole Locker is no option of one call is for the compiler.
func TestALockOptionIsAnOption(t *testing.T) {
	t.Parallel()
	for _, o := range []LockOption{WithTTL(time.Second), WithBackoff(1, 2), WithMaxAttempts(3)} {
		var _ Option = o
	}
	for _, o := range []Option{
		WithNodeTimeout(1), WithDrift(0), WithPrefix(""), WithClock(nil), WithHooks(Hooks{}), WithClientOptions(nil),
	} {
		_, ok := o.(LockOption)
		require.False(t, ok)
	}
}
