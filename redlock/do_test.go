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
)

var errWork = errors.New("the work failed")

func TestDoKeepsTheLockWhileTheFunctionRunsAndThenGivesItBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		for _, want := range []error{nil, errWork} {
			err := c.Do(t.Context(), "k", func(ctx context.Context, lock *Lock) error {
				time.Sleep(10 * ttl)
				require.NoError(t, ctx.Err())
				require.NoError(t, lock.Err())
				require.Equal(t, "k", lock.Key())
				_, err := c.another(t).TryLock(t.Context(), "k")
				require.ErrorIs(t, err, ErrTaken)
				return want
			})
			require.Equal(t, want, err)
			synctest.Wait()
			require.Empty(t, c.ours())
		}
	})
}

func TestDoWithoutTheLockDoesNotCallTheFunction(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := held(t, time.Hour)
		never := func(context.Context, *Lock) error {
			t.Error("it was called")
			return nil
		}
		err := c.Do(after(t, time.Second), "k", never)
		require.ErrorIs(t, err, ErrTaken)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, c.Do(t.Context(), "", never), ErrInvalid)
		time.Sleep(time.Second) // it has left the queue
		before := c.sent("")
		require.ErrorIs(t, c.Do(t.Context(), "other", nil), ErrInvalid)
		require.ErrorIs(t, (*Locker)(nil).Do(t.Context(), "k", never), ErrInvalid)
		require.Equal(t, before, c.sent(""))
		require.NoError(t, c.Close(t.Context()))
		require.ErrorIs(t, c.Do(t.Context(), "k", never), ErrClosed)
	})
}

// F39: the work's own error comes first, and neither hides the other.
func TestTheErrorOfDoIsTheFunctionsAndThenTheLocks(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		err := c.Do(t.Context(), "k", func(context.Context, *Lock) error {
			synctest.Wait()
			c.each(way{down: errRefused}, 0, 1, 2)
			return errWork
		})
		require.ErrorIs(t, err, errWork)
		require.ErrorIs(t, err, ErrNoQuorum)
		require.True(t, strings.HasPrefix(err.Error(), errWork.Error()), "%v", err)
		c.each(way{}, 0, 1, 2)
		time.Sleep(recovery)
		require.Empty(t, c.ours())

		err = c.Do(t.Context(), "k", func(context.Context, *Lock) error {
			synctest.Wait()
			c.each(way{down: errRefused}, 0, 1, 2)
			return nil
		})
		require.Equal(t, "unlock", quorumError(t, err).Op)
		c.each(way{}, 0, 1, 2)
		time.Sleep(recovery)
	})
}

func TestDoCancelsTheFunctionWhenTheLockIsLostMidWay(t *testing.T) {
	t.Parallel()
	ways := map[string]struct {
		lose func(c *cluster)
		in   time.Duration
	}{
		"all nodes stop":     {func(c *cluster) { c.each(way{lose: true}, 0, 1, 2, 3, 4) }, validity},
		"three nodes forget": {func(c *cluster) { c.masters[0].forget(); c.masters[2].forget(); c.masters[4].forget() }, ttl/3 - ttl/300},
	}
	for name, tt := range ways {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			start := time.Now()
			err := c.Do(t.Context(), "k", func(ctx context.Context, lock *Lock) error {
				synctest.Wait()
				tt.lose(c)
				<-ctx.Done()
				require.InDelta(t, tt.in, time.Since(start), float64(ttl/100), name)
				require.ErrorIs(t, context.Cause(ctx), ErrLost, name)
				require.ErrorIs(t, lock.Err(), ErrLost, name)
				c.each(way{}, 0, 1, 2, 3, 4)
				return ctx.Err()
			})
			require.ErrorIs(t, err, context.Canceled, name)
			require.ErrorIs(t, err, ErrLost, name)
			require.NotErrorIs(t, err, ErrNotAcquired, name)
			time.Sleep(ttl)
			require.Empty(t, c.ours(), name)
		})
	}
}

func TestDoGivesTheLockBackWhenTheFunctionPanicsAndThePanicGoesOn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		require.PanicsWithValue(t, "on purpose", func() {
			_ = c.Do(t.Context(), "k", func(context.Context, *Lock) error {
				time.Sleep(2 * ttl)
				panic("on purpose")
			})
		})
		synctest.Wait()
		require.Empty(t, c.ours())
	})
}

func TestDoGivesTheLockBackWhenTheFunctionEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_ = c.Do(t.Context(), "k", func(context.Context, *Lock) error {
				runtime.Goexit()
				return nil
			})
			t.Error("it came back")
		}()
		<-gone
		synctest.Wait()
		require.Empty(t, c.ours())
	})
}

func TestTheFunctionMayGiveTheLockUpItself(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		var token string
		ways := map[string]func(lock *Lock){
			"unlock": func(lock *Lock) { require.NoError(t, lock.Unlock(t.Context())) },
			"leave":  func(lock *Lock) { require.NoError(t, lock.Leave(t.Context(), time.Hour)) },
			"detach": func(lock *Lock) { token = lock.Detach() },
		}
		for name, giveUp := range ways {
			for _, want := range []error{nil, errWork} {
				err := c.Do(t.Context(), name, func(ctx context.Context, lock *Lock) error {
					synctest.Wait() // all five have it
					giveUp(lock)
					<-ctx.Done()
					require.ErrorIs(t, context.Cause(ctx), ErrUnlocked)
					return want
				})
				require.Equal(t, want, err, name)
				synctest.Wait()
				for _, m := range c.masters {
					require.Equal(t, name != "unlock", m.values()[name] != "", name)
					m.put("del", "leave")
				}
				if name == "detach" {
					lock, err := c.Resume(t.Context(), name, token)
					require.NoError(t, err)
					require.NoError(t, lock.Unlock(t.Context()))
					synctest.Wait()
				}
			}
		}
	})
}

func TestTheContextOfDoEndsTheFunctionsAndNotTheRelease(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		c.staggered(10 * time.Millisecond)
		ctx, cancel := context.WithCancelCause(t.Context())
		type key struct{}
		err := c.Do(context.WithValue(ctx, key{}, "v"), "k", func(ctx context.Context, _ *Lock) error {
			require.Equal(t, "v", ctx.Value(key{}))
			time.AfterFunc(time.Second, func() { cancel(errWork) })
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.Equal(t, errWork, err)
		time.Sleep(nodeTimeout)
		require.Empty(t, c.ours())
	})
}

func TestCloseEndsTheFunctionOfDoAndGivesItsLockBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		closed := make(chan error, 1)
		time.AfterFunc(time.Minute, func() { closed <- c.Close(t.Context()) })
		err := c.Do(t.Context(), "k", func(ctx context.Context, _ *Lock) error {
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), ErrUnlocked)
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, ErrLost)
		require.NoError(t, <-closed)
		require.Empty(t, c.ours())
	})
}

func TestAKeptLockThatIsReleasedIsNotRenewedBehindIt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		c.staggered(20 * time.Millisecond)
		require.NoError(t, c.Do(t.Context(), "k", func(_ context.Context, lock *Lock) error {
			<-time.After(ttl/3 - ttl/300 - time.Until(lock.Until().Add(-validity))) // about when it is renewed
			return nil
		}))
		time.Sleep(time.Second)
		for _, m := range c.masters {
			all := m.requests("")
			require.Contains(t, []string{"release", "hand"}, all[len(all)-1].script)
		}
		require.Empty(t, c.ours())
	})
}
