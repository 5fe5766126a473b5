package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/redlock"
)

// Somebody else's keys are on one, two, three and all nodes, with an end and without; whatever we do to the lock of that
// name, they keep their value and their end.
func TestKeysOfOthersAreNeitherDeletedNorProlongedNorOverwritten(t *testing.T) {
	t.Parallel()
	for _, nodes := range [][]int{{0}, {1, 3}, {0, 2, 4}, all} {
		for name, ttl := range map[string]time.Duration{"an hour": time.Hour, "no end": 0} {
			t.Run(fmt.Sprintf("%d nodes, %s", len(nodes), name), func(t *testing.T) {
				t.Parallel()
				tr := begin(t)
				l := tr.open(redlock.WithNodeTimeout(500 * time.Millisecond))
				tr.warm(l)
				tr.take("k", ttl, nodes...)
				taken := time.Now()
				tr.molest(l, len(nodes) < 3)
				// A waiter whose last words a dropped reply took along stays in the queue, which ends with who is waited for.
				tr.foreign = append(tr.foreign, tr.prefix+"~q:k")
				for _, i := range nodes {
					value, err := tr.looks[i].Get(t.Context(), tr.prefix+"k").Result()
					require.NoError(t, err)
					require.Equal(t, foreignToken, value)
					left, err := tr.looks[i].PTTL(t.Context(), tr.prefix+"k").Result()
					require.NoError(t, err)
					if ttl == 0 {
						require.Negative(t, left, "it has no end")
						continue
					}
					require.LessOrEqual(t, left, ttl)
					require.GreaterOrEqual(t, left, ttl-time.Since(taken)-time.Second)
				}
			})
		}
	}
}

// molest locks, fails, cancels and loses replies on a key that somebody else has on some nodes.
func (tr *trial) molest(l *redlock.Locker, free bool) {
	tr.t.Helper()
	for round := range 10 {
		switch round % 3 {
		case 1:
			tr.Nodes[round%5].Proxy().DropNextReply("SET")
		case 2:
			tr.Nodes[round%5].Proxy().DropNextReply("EVALSHA")
		}
		ctx := endsIn(tr.t, time.Duration(round+1)*20*time.Millisecond)
		lock, err := l.Lock(ctx, "k")
		if err != nil {
			require.ErrorIs(tr.t, err, context.DeadlineExceeded)
			continue
		}
		require.True(tr.t, free)
		require.NoError(tr.t, unlockAgain(tr.t, lock))
	}
	for _, n := range tr.Nodes {
		n.Proxy().Pass()
	}
	if !free {
		_, err := tr.open().TryLock(tr.t.Context(), "k")
		require.ErrorIs(tr.t, err, redlock.ErrTaken)
	}
}

// F81: a handle belongs to one acquisition, so callers of one Locker cannot give back each other's locks.
func TestFiftyCallersOfOneLockerKeepApart(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	const callers, sections = 50, 3
	var counter atomic.Int64
	g, ctx := errgroup.WithContext(endsIn(t, time.Minute))
	for range callers {
		g.Go(func() error {
			for range sections {
				lock, err := l.Lock(ctx, "k")
				if err != nil {
					return err
				}
				seen := counter.Load()
				runtime.Gosched()
				counter.Store(seen + 1)
				if err := lock.Unlock(ctx); err != nil {
					return err
				}
				if err := lock.Unlock(ctx); !errors.Is(err, redlock.ErrUnlocked) {
					return fmt.Errorf("a second unlock: %w", err) // and it took nobody else's lock
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.EqualValues(t, callers*sections, counter.Load())
}
