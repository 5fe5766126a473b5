package redlock

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// queueUp starts n callers of Lock, one after the other, and returns the channel on which each announces its turn. A caller
// has its turn for 1 ms.
func queueUp(t *testing.T, l *Locker, key string, n int) <-chan int {
	t.Helper()
	turns := make(chan int, n)
	for i := range n {
		go func() {
			lock, err := l.Lock(t.Context(), key)
			check(t, err, nil)
			turns <- i
			time.Sleep(time.Millisecond)
			check(t, lock.Unlock(t.Context()), nil)
		}()
		synctest.Wait() // it has its place
	}
	return turns
}

func take(turns <-chan int, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = <-turns
	}
	return all
}

func TestCallersOfLockForOneKeyAreServedInTheirOrder(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustTryLock(t, "k")
		turns := queueUp(t, c.Locker, "k", 50)
		time.Sleep(time.Second)
		require.NoError(t, lock.Unlock(t.Context()))
		order := take(turns, 50)
		require.True(t, slices.IsSorted(order), "%v", order)
		time.Sleep(time.Second)
		require.Empty(t, c.core.lines.byKey, "nothing is kept of a key that nobody waits for")
	})
}

func TestALocalUnlockWakesTheHeadOfTheLineAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithBackoff(time.Hour, time.Hour), WithTTL(24*time.Hour))
		lock := c.mustTryLock(t, "k")
		turns := queueUp(t, c.Locker, "k", 20)
		time.Sleep(time.Second)
		require.NoError(t, lock.Unlock(t.Context()))
		// Each waited for no longer than the sections of those ahead of it.
		require.Equal(t, 19*time.Millisecond, took(func() { take(turns, 20) }))
		time.Sleep(time.Second)
	})
}

func TestOnlyTheHeadOfALineAsksTheNodes(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := held(t, time.Second, WithBackoff(100*time.Millisecond, 100*time.Millisecond))
		turns := queueUp(t, c.Locker, "k", 100)
		time.Sleep(950 * time.Millisecond)
		require.Len(t, c.attempts(), 1)
		require.Equal(t, 9*len(c.masters), c.sent("pttl"), "and nine polls")
		take(turns, 100)
		time.Sleep(time.Second)
	})
}

func TestACallerThatIsCancelledInTheLineLeavesNoGap(t *testing.T) {
	t.Parallel()
	const callers = 6
	for gone := range callers { // the head, the tail, and each between
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5, WithBackoff(time.Hour, time.Hour), WithTTL(24*time.Hour))
			lock := c.mustTryLock(t, "k")
			ctx, cancel := context.WithCancel(t.Context())
			turns, cancelled := make(chan int, callers), make(chan error, 1)
			for i := range callers {
				own := t.Context()
				if i == gone {
					own = ctx
				}
				go func() {
					lock, err := c.Lock(own, "k")
					if err != nil {
						cancelled <- err
						return
					}
					turns <- i
					check(t, lock.Unlock(t.Context()), nil)
				}()
				synctest.Wait()
			}
			before := c.sent("set")
			require.Zero(t, took(func() {
				cancel()
				err := <-cancelled
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, ErrNotAcquired)
			}), "it does not wait for its turn")
			synctest.Wait()
			if gone > 0 {
				require.Equal(t, before, c.sent("set"), "only the head asks")
			}
			require.NoError(t, lock.Unlock(t.Context()))
			want := slices.Delete([]int{0, 1, 2, 3, 4, 5}, gone, gone+1)
			require.Equal(t, want, take(turns, callers-1))
			time.Sleep(time.Second)
		})
	}
}

// Nobody here will say that the key is free: who comes to the head of the line has to ask for itself.
func TestTheNextInLineAsksTheNodesWhenTheHeadHasLeft(t *testing.T) {
	t.Parallel()
	leave := map[string]func(t *testing.T, c *cluster){
		"cancelled": func(t *testing.T, c *cluster) {
			t.Helper()
			_, err := c.Lock(after(t, 300*time.Millisecond), "k")
			check(t, err, context.DeadlineExceeded)
		},
		"served, and never gives it back": func(t *testing.T, c *cluster) {
			t.Helper()
			_, err := c.Lock(t.Context(), "k", WithTTL(time.Second))
			check(t, err, nil)
		},
	}
	for name, head := range leave {
		bubble(t, func(t *testing.T) {
			c := held(t, time.Second)
			go head(t, c)
			synctest.Wait()
			require.LessOrEqual(t, took(func() {
				_, err := c.Lock(after(t, time.Minute), "k")
				require.NoError(t, err, name)
			}), 2300*time.Millisecond, name)
		})
	}
}

func TestACallerWhoseContextEndsInTheLineWasNeverAsked(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := held(t, time.Minute)
		go func() { _, _ = c.Lock(after(t, 2*time.Second), "k") }()
		synctest.Wait()
		require.Equal(t, time.Second, took(func() {
			_, err := c.Lock(after(t, time.Second), "k")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, ErrNotAcquired)
			require.NotErrorIs(t, err, ErrTaken)
			require.ErrorContains(t, err, "no node was asked")
			require.Equal(t, 5, quorumError(t, err).Unsent)
		}))
		time.Sleep(2 * time.Second)
	})
}

func TestCallersForOtherKeysDoNotWait(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := held(t, time.Hour)
		for range 10 {
			go func() { _, _ = c.Lock(after(t, time.Second), "k") }()
		}
		synctest.Wait()
		for i := range 100 {
			require.Zero(t, took(func() {
				lock, err := c.Lock(t.Context(), strconv.Itoa(i))
				require.NoError(t, err)
				require.NoError(t, lock.Unlock(t.Context()))
			}))
		}
		time.Sleep(time.Second)
	})
}

func TestLockersMadeByWithShareTheirLines(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithBackoff(time.Hour, time.Hour), WithTTL(24*time.Hour))
		lock := c.mustTryLock(t, "k")
		turns := queueUp(t, c.With(WithTTL(2*time.Second)), "k", 1)
		require.NoError(t, lock.Unlock(t.Context()))
		require.Zero(t, took(func() { take(turns, 1) }))
		time.Sleep(time.Second)
	})
}

// A notice that came before an attempt began is answered by that attempt: the pause after it is a full one.
func TestANoticeFromBeforeAnAttemptDoesNotCutThePauseAfterIt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := held(t, time.Hour, WithBackoff(time.Second, time.Second))
		call, err := c.call(t.Context(), "lock", "k", nil)
		require.NoError(t, err)
		first, second := c.core.lines.join(call.keys.line), c.core.lines.join(call.keys.line)
		c.core.lines.leave(first, 0) // before the second has looked whether it is the head
		require.NoError(t, call.waitTurn(t.Context(), second))
		require.Equal(t, time.Second, took(func() {
			polls, err := (&queuer{call: &call, w: second}).pause(t.Context(), 0, false)
			require.NoError(t, err)
			require.True(t, polls)
		}))
	})
}
