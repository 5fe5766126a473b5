package fence_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/fence"
	"github.com/quorumlock/go-redlock/internal/testcluster"
	_ "github.com/quorumlock/go-redlock/internal/testcluster/containers" // the best masters there are
)

// Every guard keeps the same promises, wherever it keeps its number.
func TestEveryGuardKeepsThePromises(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(t *testing.T) (makeGuard func(t *testing.T) fence.Guard){
		"memory": func(*testing.T) func(*testing.T) fence.Guard {
			return func(*testing.T) fence.Guard { return &fence.Memory{} }
		},
		"redis, embedded": func(t *testing.T) func(*testing.T) fence.Guard { return redisGuards(embedded(t)) },
		"redis, real":     func(t *testing.T) func(*testing.T) fence.Guard { return redisGuards(server(t)) },
		"sql": func(*testing.T) func(*testing.T) fence.Guard {
			return func(t *testing.T) fence.Guard {
				return accounts(t).Row((&fakeTable{rows: map[int64]any{7: int64(0)}}).open(t), 7)
			}
		},
	}
	for kind, start := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			makeGuard := start(t)
			for promise, check := range promises {
				t.Run(promise, func(t *testing.T) { check(t, makeGuard(t)) })
			}
		})
	}
}

var promises = map[string]func(t *testing.T, g fence.Guard){
	"the holder writes many times, the next one too, the first no more": func(t *testing.T, g fence.Guard) {
		for _, f := range []int64{3, 3, 3, 5, 5} {
			require.NoError(t, g.Admit(t.Context(), f))
		}
		requireStale(t, g, 3, 5)
		requireStale(t, g, 4, 5)
		require.NoError(t, g.Admit(t.Context(), 5), "a refusal changes nothing")
	},
	"every digit counts": func(t *testing.T, g fence.Guard) {
		for _, f := range []int64{
			9, 10, 99, 100, 1764493863123518, 1764493863123519, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64,
		} {
			require.NoError(t, g.Admit(t.Context(), f), f)
			requireStale(t, g, f-1, f)
			requireStale(t, g, 1, f)
		}
	},
	"what is no fence is refused and leaves nothing": func(t *testing.T, g fence.Guard) {
		for _, f := range []int64{0, -1, math.MinInt64} {
			require.ErrorIs(t, g.Admit(t.Context(), f), fence.ErrNoFence, f)
		}
		require.NoError(t, g.Admit(t.Context(), 1))
	},
	"a context that has ended is told with its cause and leaves nothing": func(t *testing.T, g fence.Guard) {
		lost := errors.New("lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(lost)
		err := g.Admit(ctx, 9)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, lost)
		require.NotErrorIs(t, err, fence.ErrStale)
		ctx, cancel2 := context.WithCancel(t.Context())
		cancel2()
		require.EqualError(t, g.Admit(ctx, 9), "fence: not asked: context canceled")
		require.NoError(t, g.Admit(t.Context(), 1))
	},
	"of many at once, none is admitted behind a higher one": hammer,
}

func requireStale(t *testing.T, g fence.Guard, f, highest int64) {
	t.Helper()
	err := g.Admit(t.Context(), f)
	require.ErrorIs(t, err, fence.ErrStale)
	stale, ok := errors.AsType[*fence.StaleError](err)
	require.True(t, ok)
	require.Equal(t, fence.StaleError{Fence: f, Highest: highest}, *stale)
}

// hammer lets callers admit fences in an order that nobody controls. What can be told from outside is what an admission that
// had returned before a call began forbids it, and what a refusal must have seen.
func hammer(t *testing.T, g fence.Guard) {
	const callers, each = 8, 200
	var admitted, offered atomic.Int64
	var wg sync.WaitGroup
	for caller := range int64(callers) {
		wg.Go(func() {
			for i := range int64(each) {
				f := 1 + i*callers + (caller*5+i)%callers // each number once, neighbours at about the same time
				before := admitted.Load()
				raise(&offered, f)
				err := g.Admit(t.Context(), f)
				stale, refused := errors.AsType[*fence.StaleError](err)
				switch {
				case err == nil && f < before:
					t.Errorf("%d was admitted after %d", f, before)
				case err == nil:
					raise(&admitted, f)
				case !refused:
					t.Error(err)
				case stale.Fence != f || stale.Highest <= f || stale.Highest < before || stale.Highest > offered.Load():
					t.Errorf("%d was refused: %v; %d had been admitted before, %d offered since", f, err, before, offered.Load())
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, callers*each, admitted.Load(), "the highest is always admitted")
	requireStale(t, g, callers*each-1, callers*each)
}

func raise(n *atomic.Int64, to int64) {
	for at := n.Load(); at < to && !n.CompareAndSwap(at, to); {
		at = n.Load()
	}
}

func TestTheHighestFenceInMemoryNeverFalls(t *testing.T) {
	t.Parallel()
	var g fence.Memory
	done := make(chan struct{})
	fell := make(chan bool)
	go func() { // ended by done; its answer is waited for below
		last, falls := int64(0), false
		for {
			now := g.Highest()
			falls = falls || now < last
			last = now
			select {
			case <-done:
				fell <- falls
				return
			default:
			}
		}
	}()
	hammer(t, &g)
	close(done)
	require.False(t, <-fell)
	require.EqualValues(t, 1600, g.Highest())
}

func TestAnErrorNamesBothNumbers(t *testing.T) {
	t.Parallel()
	var g fence.Memory
	require.NoError(t, g.Admit(t.Context(), 1764493863123519))
	err := g.Admit(t.Context(), 1764493863123518)
	require.EqualError(t, err, "fence: stale: 1764493863123518, where 1764493863123519 was seen")
	require.NotErrorIs(t, err, fence.ErrNoFence)
	require.EqualError(t, g.Admit(t.Context(), 0), "fence: no fence: 0")
}

// embedded is a client of a server in this process.
func embedded(t *testing.T) *testcluster.Cluster {
	t.Helper()
	c, err := testcluster.Start(t.Context(), testcluster.Embedded, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// server is the best server there is.
func server(t *testing.T) *testcluster.Cluster {
	t.Helper()
	return testcluster.ForTest(t, 1)
}

// clientOf returns a client with default options, as users have.
func clientOf(t *testing.T, c *testcluster.Cluster) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: c.Nodes[0].Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func redisGuards(c *testcluster.Cluster) func(t *testing.T) fence.Guard {
	return func(t *testing.T) fence.Guard {
		t.Helper()
		return fence.NewRedis(clientOf(t, c), "fence:"+t.Name())
	}
}
