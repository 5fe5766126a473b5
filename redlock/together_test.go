package redlock

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/internal/node"
)

// heldUp is a clock that holds up who sets a timer for an Extend, between its look at the lock and its question.
type heldUp struct {
	clock.Clock
	on   *atomic.Bool
	gate chan struct{}
}

func (g heldUp) AfterFunc(d time.Duration, f func()) func() bool {
	if g.on.Load() {
		pcs := make([]uintptr, 16)
		n := runtime.Callers(2, pcs)
		frames := runtime.CallersFrames(pcs[:n])
		for {
			f, more := frames.Next()
			if strings.HasSuffix(f.Function, "(*Lock).extend") {
				<-g.gate
				break
			}
			if !more {
				break
			}
		}
	}
	return g.Clock.AfterFunc(d, f)
}

func TestOfTwoWaysOfGivingUpAtOnceOneIsTaken(t *testing.T) {
	t.Parallel()
	const n = 2000
	both := map[string]int{}
	for name, other := range map[string]func(*Lock) bool{
		"detach": func(k *Lock) bool { return k.Detach() != "" },
		"leave":  func(k *Lock) bool { return !errors.Is(k.Leave(context.Background(), time.Second), ErrUnlocked) },
	} {
		c := newCluster(t, 1)
		for i := range n {
			lock, err := c.TryLock(t.Context(), fmt.Sprint(name, i))
			require.NoError(t, err)
			var wg sync.WaitGroup
			var a, b bool
			start := make(chan struct{})
			wg.Go(func() { <-start; a = !errors.Is(lock.Unlock(context.Background()), ErrUnlocked) })
			wg.Go(func() { <-start; b = other(lock) })
			wg.Go(func() {
				<-start
				for range 200 {
					_ = lock.Err()
				}
			})
			done := make(chan struct{})
			go func() { wg.Wait(); close(done) }()
			close(start)
			select {
			case <-done:
			case <-time.After(5 * time.Second):
				buf := make([]byte, 1<<16)
				t.Fatalf("%s hangs at %d\n%s", name, i, buf[:runtime.Stack(buf, true)])
			}
			if a && b {
				both[name]++
			}
		}
	}
	require.Empty(t, both, "of %d", n)
}

func TestDetachGivesNoTokenOfALockThatCloseGaveBack(t *testing.T) {
	t.Parallel()
	bad := 0
	const n = 1000
	for i := range n {
		c := newCluster(t, 1)
		lock, err := c.TryLock(t.Context(), "k")
		require.NoError(t, err)
		var wg sync.WaitGroup
		token := ""
		start := make(chan struct{})
		wg.Go(func() { <-start; _ = c.Close(context.Background()) })
		wg.Go(func() {
			<-start
			for range i % 200 {
				_ = lock.Key()
			}
			token = lock.Detach()
		})
		close(start)
		wg.Wait()
		if token != "" && len(c.ours()) == 0 {
			bad++
		}
	}
	require.Zero(t, bad, "a token of a lock that Close has given back, of %d", n)
}

func TestLeaveIsNotUndoneByAnExtendThatGoesOutAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		for _, m := range c.masters {
			_, err := m.store.Load(node.Scripts()["leave"])
			require.NoError(t, err)
		}
		lock := c.mustHold(t, "k")
		time.Sleep(time.Second)
		c.each(way{back: 20 * time.Millisecond}, 0, 1, 2, 3, 4)
		go func() { _, _ = c.TryLock(t.Context(), "x") }() // the lanes are busy
		synctest.Wait()
		go func() { _ = lock.Extend(t.Context()) }()
		synctest.Wait()
		left := time.Now()
		require.NoError(t, lock.Leave(t.Context(), 2*time.Second))
		time.Sleep(nodeTimeout)
		for i, m := range c.masters {
			require.WithinDuration(t, left.Add(2*time.Second), m.expiry("k"), 30*time.Millisecond, "node %d", i)
		}
	})
}

func TestLeaveIsNotUndoneByAnExtendThatLookedBefore(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		g := heldUp{clock.Monotonic(), new(atomic.Bool), make(chan struct{})}
		c := primed(t, 5, WithClock(g))
		lock := c.mustHold(t, "k")
		time.Sleep(time.Second)
		g.on.Store(true)
		go func() { _ = lock.Extend(t.Context()) }()
		synctest.Wait()
		left := time.Now()
		require.NoError(t, lock.Leave(t.Context(), 2*time.Second))
		g.on.Store(false)
		close(g.gate)
		synctest.Wait()
		for i, m := range c.masters {
			require.Equal(t, left.Add(2*time.Second), m.expiry("k"), "node %d", i)
		}
	})
}

func TestUnlockAgainIsNotLostForAnExtendBehindTheRelease(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		g := heldUp{clock.Monotonic(), new(atomic.Bool), make(chan struct{})}
		c := primed(t, 5, WithClock(g))
		lock := c.mustHold(t, "k")
		time.Sleep(time.Second)
		g.on.Store(true)
		go func() { _ = lock.Extend(t.Context()) }()
		synctest.Wait()
		for _, m := range c.masters[:3] {
			m.set(way{answer: func(request) (any, error, bool) { return nil, reply("LOADING x"), true }})
		}
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrNoQuorum)
		c.each(way{}, 0, 1, 2, 3, 4)
		time.Sleep(100 * time.Millisecond) // the debts are paid
		require.Empty(t, c.ours())
		g.on.Store(false)
		close(g.gate)
		synctest.Wait()
		require.NoError(t, lock.Unlock(t.Context()), "it was held until the first Unlock")
	})
}

func TestNothingIsRepairedOnceTheLockIsLost(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		time.Sleep(time.Second)
		c.each(way{back: 100 * time.Millisecond}, 3, 4)
		first := make(chan error, 1)
		go func() { first <- lock.Extend(t.Context()) }()
		synctest.Wait()
		require.NoError(t, <-first)
		for _, m := range c.masters[:3] {
			m.restartEmpty()
		}
		require.ErrorIs(t, lock.Extend(t.Context()), ErrLost)
		require.ErrorIs(t, lock.Err(), ErrLost)
		time.Sleep(nodeTimeout)
		require.Zero(t, c.sent("repair"), "it was said to be lost: %v", c.carriers(lock))
	})
}

func TestAnExtendThatSaidClosedMovesNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithoutReleaseOnClose())
		lock := c.mustHold(t, "k")
		time.Sleep(time.Second)
		c.each(way{back: 100 * time.Millisecond}, 0, 1, 2, 3, 4)
		ended := make(chan error, 1)
		go func() { ended <- lock.Extend(t.Context()) }()
		time.Sleep(50 * time.Millisecond)
		before := lock.Until()
		require.NoError(t, c.Close(t.Context()))
		require.ErrorIs(t, <-ended, ErrClosed)
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, before.UTC(), lock.Until().UTC())
	})
}

func TestAKeyDoesNotWaitBehindASetOfOthers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		for _, m := range c.masters {
			m.hold("a", time.Hour)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { _, _ = c.Lock(ctx, "a", WithKeys("b")) }()
		synctest.Wait()
		short, cancel2 := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel2()
		_, err := c.Lock(short, "1:a1:b")
		require.NoError(t, err, "the key is free")
	})
}

func TestCloseGivesBackEveryLockThoughItsContextHasEnded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 3)
		const n = 6000
		for i := range n {
			c.mustTryLock(t, fmt.Sprint(i))
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = c.Close(ctx)
		time.Sleep(time.Second)
		require.Empty(t, len(c.ours())/3, "keys left on healthy nodes")
	})
}
