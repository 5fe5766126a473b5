package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

const defaultTimeout = 200 * time.Millisecond

// goroutines watches how many there are until it is stopped, and returns by how many they exceeded the number before.
func goroutines() (stop func() int) {
	base := testcluster.Goroutines()
	var most atomic.Int64
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			most.Store(max(most.Load(), int64(testcluster.Goroutines())))
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return func() int {
		close(ended)
		watching.Wait()
		return int(most.Load()) - base - 1 // the watch itself
	}
}

// F03, F38, F50, F57, F58, F83. Not parallel, since it counts the goroutines of the process.
func TestCallsReturnInTheirBoundsOnDefaultClientsWithNodesStopped(t *testing.T) {
	for _, stopped := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprintf("%d of 5", stopped), func(t *testing.T) {
			tr := begin(t, testcluster.Stop)
			l := tr.over(tr.onDefaults())
			tr.warm(l)
			const callers = 32
			held := make([]*redlock.Lock, callers)
			for i := range held {
				held[i] = tr.lock(l, fmt.Sprint("held", i))
			}
			over := goroutines()
			tr.each(all[:stopped], stop)
			var g errgroup.Group
			var had atomic.Int64
			for i, lock := range held {
				g.Go(func() error { return boundedCalls(t, l, lock, fmt.Sprint("k", i), &had) })
			}
			require.NoError(t, g.Wait())
			require.LessOrEqual(t, over(), callers+4*5+8)
			if stopped < 3 {
				require.Greater(t, had.Load(), int64(callers*5/2), "locks are had: a machine that is busy may lose some")
			} else {
				require.Zero(t, had.Load())
			}
		})
	}
}

// boundedCalls makes one caller's calls and holds each against its bound. It counts the locks that TryLock gave.
func boundedCalls(t *testing.T, l *redlock.Locker, held *redlock.Lock, key string, had *atomic.Int64) error {
	t.Helper()
	var errs []error
	// in adds what is wrong with a call: that it took too long, or an end other than these.
	in := func(limit time.Duration, f func() error, ends ...error) {
		var err error
		errs = append(errs, inTime(limit, func() { err = f() }))
		if err != nil && !slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) }) {
			errs = append(errs, err)
		}
	}
	in(2*defaultTimeout, func() error { return held.Unlock(t.Context()) }, redlock.ErrNoQuorum)
	for range 5 {
		var lock *redlock.Lock
		in(defaultTimeout, func() (err error) {
			lock, err = l.TryLock(t.Context(), key)
			return err
		}, redlock.ErrNoQuorum)
		if lock != nil {
			had.Add(1)
			in(2*defaultTimeout, func() error { return lock.Unlock(t.Context()) }, redlock.ErrNoQuorum)
		}
	}
	for _, limit := range []time.Duration{defaultTimeout / 4, 2*defaultTimeout + defaultTimeout/4} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		var lock *redlock.Lock
		in(limit, func() (err error) {
			lock, err = l.Lock(ctx, key)
			return err
		}, context.DeadlineExceeded)
		cancel()
		if lock != nil {
			in(2*defaultTimeout, func() error { return lock.Unlock(t.Context()) }, redlock.ErrNoQuorum)
		}
	}
	return errors.Join(errs...)
}

// F58: what hangs is the node's lane, not the callers, however many calls there are.
func TestAThousandLocksBesideTwoStoppedNodesHoldNoGoroutines(t *testing.T) {
	tr := begin(t, testcluster.Stop)
	l := tr.over(tr.onDefaults())
	tr.warm(l)
	over := goroutines()
	tr.each(all[:2], stop)
	for range 1000 {
		lock, err := l.Lock(endsIn(t, 10*time.Second), "k")
		require.NoError(t, err)
		require.NoError(t, unlockAgain(t, lock))
	}
	require.LessOrEqual(t, over(), 1+4*5+8)
}

// F57: the majority decides, so a node that stands still is never waited for: 100 locks in a row would take twenty seconds
// more if each waited for it.
func TestASilentNodeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.over(tr.onDefaults())
	tr.warm(l)
	hundred := func() time.Duration {
		start := time.Now()
		require.NoError(t, cycles(t, l, 1, 100))
		return time.Since(start)
	}
	healthy := hundred()
	tr.Nodes[4].Proxy().BlackHole(true)
	require.Less(t, hundred(), 3*healthy+100*defaultTimeout/4)
}

// F59, F43: neither a refused connection nor a dial that never ends delays anybody, the first call as little as the last,
// though the node timeout would allow it.
func TestDialsThatFailOrHangDelayNobody(t *testing.T) {
	t.Parallel()
	tests := map[string]func(tr *trial, o *redis.Options){
		"refused":    func(_ *trial, o *redis.Options) { o.Addr = "127.0.0.1:1" },
		"never ends": func(tr *trial, o *redis.Options) { o.Dialer = tr.dialsForEver },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t)
			clients := tr.onDefaults()
			o := redis.Options{Addr: "127.0.0.1:2"}
			spoil(tr, &o)
			clients[4] = redis.NewClient(&o)
			l := tr.over(clients, redlock.WithNodeTimeout(generous))
			lock, err := l.Lock(endsIn(t, time.Minute), "warm")
			require.NoError(t, err)
			require.NoError(t, unlockAgain(t, lock))
			for i := range 100 {
				mustBeInTime(t, generous/4, func() { lock, err = l.TryLock(t.Context(), "k") })
				require.NoError(t, err, "call %d", i)
				mustBeInTime(t, generous/4, func() { err = lock.Unlock(t.Context()) })
				require.NoError(t, err, "call %d", i)
			}
		})
	}
}
