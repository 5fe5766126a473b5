package redlock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// splinter is a crew of one that finds the canary free and the other nodes taken, of which so many are given back in a moment.
func splinter(t *testing.T, freed int, opts ...Option) (c *crew, key string) {
	t.Helper()
	c = newCrew(t, 1, append([]Option{WithTTL(time.Minute)}, opts...)...)
	key = c.keyAt(0)
	for _, m := range c.masters[1:] {
		m.hold(key, time.Hour)
	}
	time.AfterFunc(trip, func() {
		for _, m := range c.masters[1 : 1+freed] {
			m.put("del", key)
		}
	})
	return c, key
}

func TestALockThatWasHadByAskingAgainIsOneLikeAnyOther(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var all []Attempt
		c, key := splinter(t, 2, told(&all))
		start := time.Now()
		lock, err := c.Lock(t.Context(), key)
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, []int{3, 2}, []int{all[0].Granted, all[0].Refused})
		require.Equal(t, []int{0, 1, 2}, c.carriers(lock))
		require.Equal(t, time.Minute-time.Minute/100-2*time.Millisecond, lock.Remaining()+time.Since(start), "from the first question")
		require.NoError(t, lock.Extend(t.Context()))
		require.NoError(t, lock.Err())
		require.NoError(t, lock.Unlock(t.Context()))
		time.Sleep(trip)
		require.Empty(t, c.ours())
	})
	bubble(t, func(t *testing.T) {
		c, key := splinter(t, 2)
		lock, err := c.Lock(t.Context(), key)
		require.NoError(t, err)
		c.masters[1].put("del", key)
		require.ErrorIs(t, lock.Extend(t.Context()), ErrLost, "a bare majority must not forget")
	})
	bubble(t, func(t *testing.T) {
		c, key := splinter(t, 2)
		lock, err := c.Lock(t.Context(), key)
		require.NoError(t, err)
		for _, m := range c.masters[1:3] {
			m.put("del", key)
		}
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost, "two of the three that granted know nothing of it")
	})
}

// Whoever breaks off while it asks again leaves nothing, wherever its questions are at that moment.
func TestWhoBreaksOffWhileItAsksAgainLeavesNothing(t *testing.T) {
	t.Parallel()
	for when := trip / 2; when < 9*trip; when += trip / 4 {
		bubble(t, func(t *testing.T) {
			c, key := splinter(t, 1)
			ctx, cancel := context.WithTimeout(t.Context(), when)
			defer cancel()
			require.Equal(t, when, took(func() {
				_, err := c.Lock(ctx, key)
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}))
			time.Sleep(10 * trip)
			require.Empty(t, c.ours(), "%v", when)
			c.requireGone()
		})
		bubble(t, func(t *testing.T) {
			c, key := splinter(t, 1)
			turns := make(chan turn, 1)
			go func() {
				lock, err := c.Lock(t.Context(), key)
				turns <- turn{0, lock, err, time.Now()}
			}()
			time.Sleep(when)
			require.NoError(t, c.Close(t.Context()))
			require.ErrorIs(t, (<-turns).err, ErrClosed)
			require.Empty(t, c.ours(), "%v", when)
		})
	}
}

// Nodes that fall silent while they are asked again cost the call its node timeout, and nothing that stays.
func TestNodesThatFallSilentWhileTheyAreAskedAgainHoldNothing(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]way{"requests are lost": {lose: true}, "replies are lost": {drop: true}} {
		bubble(t, func(t *testing.T) {
			c, key := splinter(t, 2)
			time.AfterFunc(trip, func() { c.each(w, 1, 2) })
			time.AfterFunc(10*nodeTimeout, func() { c.each(way{out: trip / 2, back: trip / 2}, 1, 2) })
			elapsed := took(func() {
				_, err := c.Lock(t.Context(), key, WithMaxAttempts(1))
				require.ErrorIs(t, err, ErrNotAcquired, name)
			})
			require.LessOrEqual(t, elapsed, 4*nodeTimeout, name)
			time.Sleep(2 * time.Minute)
			require.Empty(t, c.ours(), name)
			c.requireGone()
		})
	}
}
