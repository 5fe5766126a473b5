package redlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheHooksAreToldOfALifeOnceEachWithItsFacts(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var told recorded
		c := primed(t, 3, WithHooks(told.hooks()), WithFencing())
		c.each(way{back: 10 * time.Millisecond}, 0, 1, 2)
		for _, m := range c.masters {
			m.hold("k", 40*time.Millisecond)
		}
		lock, err := c.Lock(t.Context(), "k", WithBackoff(50*time.Millisecond, 50*time.Millisecond))
		require.NoError(t, err)
		acquired := of[Acquisition](&told)
		require.Equal(t, []Acquisition{{Key: "k", Fence: lock.Fence(), Attempts: 2, Remaining: validity - 10*time.Millisecond}}, acquired)
		attempts := of[Attempt](&told)
		require.Len(t, attempts, 2)
		require.ErrorIs(t, attempts[0].Err, ErrTaken)
		require.NoError(t, attempts[1].Err)
		votes := of[Vote](&told)
		require.GreaterOrEqual(t, len(votes), 4)
		require.Equal(t, "refused", votes[0].Vote)
		require.Equal(t, "granted", votes[len(votes)-1].Vote)
		for _, v := range votes {
			require.Equal(t, "k", v.Key)
			require.Equal(t, c.core.names[v.Node], v.Name)
			require.NoError(t, v.Err)
		}

		time.Sleep(time.Second)
		require.NoError(t, lock.Extend(t.Context()))
		extended := of[Extension](&told)
		require.Equal(t, []Extension{{Key: "k", Elapsed: 10 * time.Millisecond, Remaining: validity - 10*time.Millisecond}}, extended)
		require.NoError(t, lock.Unlock(t.Context()))
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrUnlocked)
		time.Sleep(time.Minute)
		require.Equal(t, []Release{{Key: "k"}}, of[Release](&told))
		require.Empty(t, of[Loss](&told))
		require.Empty(t, of[Jeopardy](&told))
		require.Empty(t, of[Debts](&told))
	})
}

func TestVotesThatAreMissingAreToldWithTheirCause(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var told recorded
		c := primed(t, 5, WithHooks(told.hooks()))
		c.arrange([]condition{grants, isTaken, refusesConnection, hangs, hangs}, "k")
		_, err := c.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, ErrNoQuorum)
		votes := of[Vote](&told)
		require.GreaterOrEqual(t, len(votes), 4, "the last one changes nothing and is not waited for")
		want := []string{"granted", "refused", "unsent", "unknown", "unknown"}
		for _, v := range votes {
			require.Equal(t, want[v.Node], v.Vote)
			require.Equal(t, v.Node >= 2, v.Err != nil)
		}
		require.ErrorIs(t, votes[2].Err, errRefused)
		synctest.Wait()
		c.each(way{}, 0, 1, 2, 3, 4)
		for _, m := range c.masters {
			m.resume()
		}
		time.Sleep(ttl + time.Second)
		debts := of[Debts](&told)
		require.NotEmpty(t, debts)
		last := make(map[int]int)
		for _, d := range debts {
			require.Equal(t, c.core.names[d.Node], d.Name)
			last[d.Node] = d.Owed
		}
		require.Equal(t, map[int]int{3: 0, 4: 0}, last, "what was owed, and that it was paid")
	})
}

func TestJeopardyIsToldWhileTheLockIsHeldAndThenTheLossOnce(t *testing.T) {
	t.Parallel()
	type key struct{}
	for _, watched := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			var told recorded
			hooks := told.hooks()
			var seen any
			hooks.Lost = func(ctx context.Context, l Loss) {
				seen = ctx.Value(key{})
				check(t, ctx.Err(), nil)
				told.add(l)
			}
			c := primed(t, 5, WithHooks(hooks))
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "span"))
			lock, err := c.TryLock(ctx, "k")
			require.NoError(t, err)
			cancel()
			if watched {
				lock.Done()
			}
			synctest.Wait()
			c.each(way{down: errRefused}, 0, 1, 2)
			err = lock.Extend(t.Context())
			require.ErrorIs(t, err, ErrNoQuorum)
			require.Equal(t, []Jeopardy{{Key: "k", Remaining: lock.Remaining(), Err: err}}, of[Jeopardy](&told))
			time.Sleep(validity)
			for range 3 {
				require.ErrorIs(t, lock.Extend(t.Context()), ErrLost)
			}
			require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost)
			synctest.Wait()
			require.Len(t, of[Jeopardy](&told), 1, "after the loss there is none")
			loss := of[Loss](&told)
			require.Len(t, loss, 1)
			require.Equal(t, "k", loss[0].Key)
			require.ErrorIs(t, loss[0].Err, ErrLost)
			require.Equal(t, "span", seen, "the values of the call that acquired it")
			release := of[Release](&told)
			require.Len(t, release, 1)
			require.ErrorIs(t, release[0].Err, ErrLost)
			c.each(way{}, 0, 1, 2)
			time.Sleep(ttl)
		})
	}
}

func TestAWonExtendThatFoundALostKeyIsJeopardy(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var told recorded
		c := primed(t, 3, WithHooks(told.hooks()))
		lock := c.mustHold(t, "k")
		c.masters[0].restartEmpty()
		c.staggered(time.Millisecond)
		require.NoError(t, lock.Extend(t.Context()))
		require.Len(t, of[Extension](&told), 1)
		jeopardy := of[Jeopardy](&told)
		require.Len(t, jeopardy, 1)
		require.Equal(t, lock.Remaining(), jeopardy[0].Remaining)
		e := quorumError(t, jeopardy[0].Err)
		require.Len(t, e.Errs, 1)
		require.Equal(t, 0, e.Errs[0].Index)
		require.ErrorIs(t, e, errGone)
		require.NotErrorIs(t, e, ErrNoQuorum)
		require.NotErrorIs(t, e, ErrLost)
		require.Contains(t, e.Error(), "redlock: jeopardy: extend")
	})
}

// life takes a lock through everything that hooks are told of.
func life(t *testing.T, c *cluster) {
	t.Helper()
	lock := c.mustHold(t, "k")
	ended := keeping(t.Context(), lock)
	time.Sleep(ttl / 2)
	require.NoError(t, lock.Extend(t.Context()))
	c.each(way{down: errRefused}, 0, 1, 2)
	require.ErrorIs(t, lock.Extend(t.Context()), ErrNoQuorum)
	require.Equal(t, lock.Remaining(), took(func() { require.ErrorIs(t, <-ended, ErrLost) }))
	c.each(way{}, 0, 1, 2)
	for _, m := range c.masters[:3] {
		m.stop()
	}
	require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost)
	for _, m := range c.masters[:3] {
		m.resume()
	}
	time.Sleep(2 * ttl)
	require.Empty(t, c.ours())
	require.NoError(t, c.Close(t.Context()))
}

func TestHooksThatPanicBreakNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var told recorded
		wrap := func(event any) {
			told.add(event)
			panic("hook")
		}
		c := primed(t, 5, WithHooks(Hooks{
			Attempt:  func(_ context.Context, a Attempt) { wrap(a) },
			Vote:     func(_ context.Context, v Vote) { wrap(v) },
			Acquired: func(_ context.Context, a Acquisition) { wrap(a) },
			Extended: func(_ context.Context, e Extension) { wrap(e) },
			Jeopardy: func(_ context.Context, j Jeopardy) { wrap(j) },
			Lost:     func(_ context.Context, l Loss) { wrap(l) },
			Released: func(_ context.Context, r Release) { wrap(r) },
			Debts:    func(_ context.Context, d Debts) { wrap(d) },
		}))
		life(t, c)
		require.NotEmpty(t, of[Vote](&told))
		require.NotEmpty(t, of[Debts](&told))
		for _, n := range []int{len(of[Attempt](&told)), len(of[Acquisition](&told)), len(of[Loss](&told)), len(of[Release](&told))} {
			require.Equal(t, 1, n)
		}
		require.NotEmpty(t, of[Extension](&told))
		require.NotEmpty(t, of[Jeopardy](&told))
	})
}

// Hooks of goroutines of their own may hang for ever: renewal, loss and release go on, and no goroutine is added for each event.
func TestHooksOfARenewalOrALossThatHangDelayNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		hung := make(chan struct{})
		var told recorded
		wait := func(event any) {
			told.add(event)
			<-hung
		}
		c := primed(t, 5, WithHooks(Hooks{
			Lost:  func(_ context.Context, l Loss) { wait(l) },
			Debts: func(_ context.Context, d Debts) { wait(d) },
		}))
		life(t, c)
		require.Len(t, of[Loss](&told), 1)
		require.LessOrEqual(t, len(of[Debts](&told)), 3, "one a node")
		close(hung)
	})
	bubble(t, func(t *testing.T) {
		hung := make(chan struct{})
		var told recorded
		c := primed(t, 5, WithHooks(Hooks{
			Extended: func(_ context.Context, e Extension) { told.add(e); <-hung },
			Jeopardy: func(_ context.Context, j Jeopardy) { told.add(j); <-hung },
		}))
		lock := c.mustHold(t, "k")
		ended := keeping(t.Context(), lock)
		time.Sleep(10 * ttl)
		require.NoError(t, lock.Err())
		require.Len(t, of[Extension](&told), 1, "what happens meanwhile is not told")
		require.Zero(t, took(func() {
			require.NoError(t, lock.Unlock(t.Context()))
			require.NoError(t, <-ended)
			require.NoError(t, c.Close(t.Context()))
		}))
		close(hung)
	})
}

func TestHooksOfACallDelayTheirOwnCallerOnly(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		slow := func(key string) {
			if key == "slow" {
				time.Sleep(time.Second)
			}
		}
		c := primed(t, 5, WithHooks(Hooks{
			Extended: func(_ context.Context, e Extension) { slow(e.Key) },
			Released: func(_ context.Context, r Release) { slow(r.Key) },
			Acquired: func(_ context.Context, a Acquisition) { slow(a.Key) },
		}))
		var lock *Lock
		require.Equal(t, time.Second, took(func() { lock = c.mustTryLock(t, "slow") }))
		require.Equal(t, validity-time.Second, lock.Remaining(), "the time counts all the same")
		quick := c.mustTryLock(t, "quick")
		done := make(chan struct{})
		go func() {
			defer close(done)
			check(t, lock.Extend(t.Context()), nil)
			check(t, lock.Unlock(t.Context()), nil)
		}()
		synctest.Wait()
		require.Zero(t, took(func() {
			require.NoError(t, quick.Extend(t.Context()))
			require.NoError(t, quick.Unlock(t.Context()))
		}))
		require.Equal(t, 2*time.Second, took(func() { <-done }))
	})
}
