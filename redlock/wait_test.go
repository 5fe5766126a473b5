package redlock

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// held is a cluster on which somebody else has the key for d.
func held(t *testing.T, d time.Duration, opts ...Option) *cluster {
	t.Helper()
	c := newCluster(t, 5, opts...)
	for _, m := range c.masters {
		m.hold("k", d)
	}
	return c
}

// attempts is when the attempts began: each has a token of its own, and reached some node.
func (c *cluster) attempts() []time.Time {
	synctest.Wait() // what a lane was given by now has left it
	began := make(map[string]time.Time)
	for _, m := range c.masters {
		for _, r := range m.requests("set") {
			if at, ok := began[r.token]; !ok || r.at.Before(at) {
				began[r.token] = r.at
			}
		}
	}
	return slices.SortedFunc(maps.Values(began), time.Time.Compare)
}

func TestLockWaitsUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	for _, patience := range []time.Duration{time.Millisecond, 120 * time.Millisecond, 30 * time.Second} {
		bubble(t, func(t *testing.T) {
			c := held(t, 2*time.Hour)
			ctx := after(t, patience)
			require.Equal(t, patience, took(func() {
				lock, err := c.Lock(ctx, "k")
				require.Nil(t, lock)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, ErrNotAcquired)
				require.ErrorIs(t, err, ErrTaken, "what the last attempt came to is told, too")
			}))
		})
	}
}

// An attempt that the context cuts off before its votes are there says nothing of why the caller had to wait.
func TestAWaitThatEndsDuringAnAttemptTellsOfTheOneBefore(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := held(t, time.Hour, WithBackoff(time.Second, time.Second))
		time.AfterFunc(500*time.Millisecond, func() { c.each(way{back: 100 * time.Millisecond}, 0, 1, 2, 3, 4) })
		_, err := c.Lock(after(t, 1050*time.Millisecond), "k", WithMaxAttempts(9))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrTaken)
		require.Len(t, c.attempts(), 2)
	})
}

func TestAWaitThatIsCancelledEndsAtOnceWithItsCause(t *testing.T) {
	t.Parallel()
	errLeft := errors.New("the client hung up")
	bubble(t, func(t *testing.T) {
		c := held(t, time.Hour, WithBackoff(10*time.Second, 10*time.Second))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(errLeft) })
		require.Equal(t, 50*time.Millisecond, took(func() {
			_, err := c.Lock(ctx, "k")
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, errLeft)
			require.ErrorIs(t, err, ErrTaken)
		}))
	})
}

// How long a caller waits and how long its lock lives have nothing to do with one another.
func TestLockOutwaitsAHolderWhoseTTLIsLongerThanItsOwn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := held(t, 8*time.Second, WithTTL(300*time.Millisecond))
		elapsed := took(func() {
			_, err := c.Lock(after(t, 20*time.Second), "k")
			require.NoError(t, err)
		})
		require.GreaterOrEqual(t, elapsed, 8*time.Second)
		require.LessOrEqual(t, elapsed, 8*time.Second+100*time.Millisecond, "one pause later at most")
	})
}

func TestLockGivesUpAfterItsAttemptsWithoutAPauseAfterTheLast(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 4; n++ {
		bubble(t, func(t *testing.T) {
			c := held(t, time.Hour, WithBackoff(time.Second, time.Second))
			require.Equal(t, time.Duration(n-1)*time.Second, took(func() {
				_, err := c.Lock(t.Context(), "k", WithMaxAttempts(n))
				require.ErrorIs(t, err, ErrTaken)
				require.NotErrorIs(t, err, context.DeadlineExceeded)
			}))
			require.Len(t, c.attempts(), n)
		})
	}
}

func TestNoAttemptBeginsOnceTheContextHasEnded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := held(t, time.Hour, WithBackoff(50*time.Millisecond, 50*time.Millisecond))
		_, err := c.Lock(after(t, 120*time.Millisecond), "k")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Second)
		require.Len(t, c.attempts(), 1)
		require.Equal(t, 2*len(c.masters), c.sent("pttl"), "and two polls")
	})
}

func TestPausesAreRandomAndWithinTheBackoff(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const least, most = 20 * time.Millisecond, 90 * time.Millisecond
		c := held(t, time.Hour, WithBackoff(least, most))
		_, err := c.Lock(t.Context(), "k", WithMaxAttempts(300))
		require.ErrorIs(t, err, ErrTaken)
		all, seen := c.attempts(), make(map[time.Duration]bool)
		low, high := most, least
		for i := range all[1:] {
			pause := all[i+1].Sub(all[i])
			require.GreaterOrEqual(t, pause, least)
			require.LessOrEqual(t, pause, most)
			low, high = min(low, pause), max(high, pause)
			seen[pause] = true
		}
		require.Len(t, all, 300)
		require.Greater(t, len(seen), 290, "pauses repeat")
		require.Less(t, low, 25*time.Millisecond, "the whole range is used")
		require.Greater(t, high, 85*time.Millisecond)
	})
}

func TestLockWaitsForNodesThatAreDeadUntilTheyAreBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.each(way{down: errRefused}, 0, 1, 2)
		time.AfterFunc(3*time.Second, func() { c.each(way{}, 0, 1, 2) })
		elapsed := took(func() {
			_, err := c.Lock(after(t, time.Minute), "k")
			require.NoError(t, err)
		})
		require.GreaterOrEqual(t, elapsed, 3*time.Second)
		require.LessOrEqual(t, elapsed, 3100*time.Millisecond)
	})
}

// Two processes that always take the same two and three nodes would never get a lock if their pauses were alike.
func TestClientsThatSplitTheNodesPart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		const clients = 5
		done := make(chan struct{}, clients)
		inside, sections := 0, 0
		for i := range clients {
			l := c.another(t)
			go func() {
				defer func() { done <- struct{}{} }()
				for range 5 {
					lock, err := l.Lock(t.Context(), "k")
					check(t, err, nil)
					inside++
					if inside != 1 {
						t.Errorf("%d hold the lock", inside)
					}
					time.Sleep(time.Duration(i+1) * time.Millisecond)
					inside--
					sections++
					check(t, lock.Unlock(t.Context()), nil)
				}
			}()
		}
		for i := range c.masters {
			c.masters[i].set(way{out: time.Duration(i+1) * 1100 * time.Microsecond, back: time.Duration(5-i) * 900 * time.Microsecond})
		}
		for range clients {
			<-done
		}
		require.Equal(t, 5*clients, sections)
	})
}

func TestALockerWithoutCallersIsQuiet(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		require.NoError(t, c.mustTryLock(t, "k").Unlock(t.Context()))
		synctest.Wait()
		before := c.sent("")
		time.Sleep(time.Hour)
		require.Equal(t, before, c.sent(""))
	})
}
