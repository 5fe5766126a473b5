package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// Whoever waits on the clients of the holder, for its key and for others, takes no connection that the holder needs.
func TestTwoHundredWaitersOnTwoConnectionsDoNotStarveTheHolder(t *testing.T) {
	needQueues(t)
	tr := begin(t)
	clients := make([]*redis.Client, len(tr.Nodes))
	for i, n := range tr.Nodes {
		clients[i] = redis.NewClient(&redis.Options{Addr: n.Addr(), PoolSize: 2, PipelinePoolSize: 2})
	}
	const waiters, others = 200, 20
	l := tr.over(clients, redlock.WithNodeTimeout(generous))
	other := tr.open(redlock.WithTTL(time.Minute))
	held := tr.lockAll(l, "k")
	var locks []*redlock.Lock
	for i := range others {
		locks = append(locks, tr.lockAll(other, fmt.Sprint("other", i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var had atomic.Int64
	var all sync.WaitGroup
	for i := range waiters {
		key := "k"
		if i%2 == 0 {
			key = fmt.Sprint("other", i/2%others)
		}
		all.Go(func() {
			lock, err := l.Lock(ctx, key)
			if err == nil {
				had.Add(1)
				err = inTime(100*time.Millisecond, func() {
					if err := lock.Unlock(context.Background()); err != nil {
						t.Errorf("unlock %s: %v", key, err)
					}
				})
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", key, err)
			}
		})
	}
	for i := range others {
		tr.awaitQueued(fmt.Sprint("other", i), 1)
	}
	for range 50 {
		mustBeInTime(t, 100*time.Millisecond, func() { require.NoError(t, held.Extend(t.Context())) })
	}
	mustBeInTime(t, 100*time.Millisecond, func() { require.NoError(t, held.Unlock(t.Context())) })
	require.True(t, until(generous, func() bool { return had.Load() == waiters/2 }), "those of its key have it, one after the other")
	cancel()
	all.Wait()
	for _, lock := range locks {
		require.NoError(t, lock.Unlock(t.Context()))
	}
}

// They wait in one line, of which the head alone asks. Not parallel: it measures the heap.
func TestAHundredThousandCallersWaitForOneKeyAtLittleCost(t *testing.T) {
	needQueues(t)
	tr := begin(t)
	l := tr.open(redlock.WithTTL(10 * time.Minute))
	held := tr.lockAll(l, "k")
	callers := 100_000
	ctx, cancel := context.WithCancel(t.Context())
	var had, failed, stray atomic.Int64
	var all sync.WaitGroup
	let := make(chan struct{})
	bare(callers) // the runtime keeps what it knows of a goroutine, and uses it again
	before, base := heap(), runtime.NumGoroutine()
	for range callers {
		all.Go(func() {
			lock, err := l.Lock(ctx, "k")
			switch {
			case err == nil:
				had.Add(1)
				<-let
				if err := lock.Unlock(context.Background()); err != nil {
					stray.Add(1)
				}
			case errors.Is(err, context.Canceled):
				failed.Add(1)
			default:
				stray.Add(1)
			}
		})
	}
	tr.awaitQueued("k", 1)
	require.True(t, until(time.Minute, func() bool { return runtime.NumGoroutine()-base >= callers && inLine() >= callers-1 }))
	each := (heap() - before) / int64(callers)
	t.Logf("%d bytes of heap for each of %d callers, %d goroutines besides theirs", each, callers, runtime.NumGoroutine()-base-callers)
	require.LessOrEqual(t, each, int64(1<<10))
	require.LessOrEqual(t, runtime.NumGoroutine()-base-callers, 4*5+8)
	sets := tr.sent("SET")
	time.Sleep(time.Second)
	require.Less(t, tr.sent("SET")-sets, 5*50, "one asks, and not all of them")

	require.NoError(t, held.Unlock(t.Context()))
	require.True(t, until(generous, func() bool { return had.Load() == 1 }))
	close(let)
	require.True(t, until(time.Minute, func() bool { return had.Load() >= 200 }), "they have it one after the other")
	start := time.Now()
	cancel()
	all.Wait()
	t.Logf("%d had it; the others had gone %v after they were told to", had.Load(), time.Since(start))
	require.Zero(t, stray.Load())
	require.EqualValues(t, callers, had.Load()+failed.Load())
}

// bare has so many goroutines wait for nothing, and end.
func bare(n int) {
	var all sync.WaitGroup
	let := make(chan struct{})
	for range n {
		all.Go(func() { <-let })
	}
	close(let)
	all.Wait()
}

// inLine is how many goroutines stand in a line of this process, behind its head.
func inLine() int {
	var profile []runtime.StackRecord
	for n := runtime.NumGoroutine() + 64; ; n *= 2 {
		profile = make([]runtime.StackRecord, n)
		if got, ok := runtime.GoroutineProfile(profile); ok {
			profile = profile[:got]
			break
		}
	}
	count := 0
	for i := range profile {
		frames := runtime.CallersFrames(profile[i].Stack())
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.HasSuffix(f.Function, ".waitTurn") {
				count++
				break
			}
		}
	}
	return count
}

// After all waiting is over nothing of it is left. Not parallel: it counts goroutines.
func TestNothingIsLeftOfWaitingOnceNobodyWaits(t *testing.T) {
	needQueues(t)
	tr := begin(t)
	base := goroutineCount()
	var lockers []*redlock.Locker
	for range 4 {
		lockers = append(lockers, tr.open(redlock.WithTTL(time.Minute)))
	}
	for round := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 32 {
			l := lockers[i%len(lockers)]
			all.Go(func() {
				for ctx.Err() == nil {
					lock, err := l.Lock(ctx, fmt.Sprint("k", i%3))
					if err == nil {
						time.Sleep(time.Millisecond)
						err = lock.Unlock(context.Background())
					}
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Errorf("round %d: %v", round, err)
						return
					}
				}
			})
		}
		time.Sleep(300 * time.Millisecond)
		require.Positive(t, tr.subscriptions(), "while they wait there are some")
		cancel()
		all.Wait()
	}
	// An ear stays for a second, for the next waiter; a list for a second after the key it was for.
	require.True(t, until(time.Second+generous, func() bool { return tr.subscriptions() == 0 }), "%d subscriptions are left", tr.subscriptions())
	require.True(t, until(generous, func() bool { return len(tr.keys()) == 0 }), "%v", tr.keys())
	require.True(t, until(generous, func() bool { return goroutineCount() <= base }), "%d goroutines and not %d", goroutineCount(), base)
}

// subscriptions is how many of the library's stand, on all masters.
func (tr *trial) subscriptions() int {
	tr.t.Helper()
	sum := 0
	for _, look := range tr.looks {
		if tr.Backend == testcluster.Embedded {
			channels, err := look.PubSubChannels(tr.t.Context(), tr.prefix+"~w:*").Result()
			require.NoError(tr.t, err)
			sum += len(channels)
			continue
		}
		list, err := look.Do(tr.t.Context(), "client", "list", "type", "pubsub").Text()
		require.NoError(tr.t, err)
		sum += strings.Count(list, "\n")
	}
	return sum
}
