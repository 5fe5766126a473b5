package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/redlock"
)

// F09: there is a handle or there is no key, and never a third.
func TestAThousandLocksCancelledAtRandomMomentsLeaveNoKey(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const callers, locks, delay = 10, 100, 2 * time.Millisecond
	lockers := []*redlock.Locker{tr.open(), tr.over(tr.onDefaults(), redlock.WithNodeTimeout(generous))}
	for _, n := range tr.Nodes { // so that there are moments enough
		n.Proxy().Delay(delay, delay)
	}
	long := max(tr.lockTakes(lockers[0]), tr.lockTakes(lockers[1]))
	var acquired, cancelled atomic.Int64
	var g errgroup.Group
	for caller := range callers {
		random := rand.New(rand.NewPCG(uint64(caller), 9))
		l, key := lockers[caller%2], fmt.Sprint("k", caller)
		g.Go(func() error {
			for range locks {
				ctx, cancel := context.WithCancel(t.Context())
				stop := time.AfterFunc(time.Duration(random.Int64N(int64(2*long))), cancel)
				lock, err := l.Lock(ctx, key)
				stop.Stop()
				cancel()
				if err != nil {
					cancelled.Add(1)
					if !errors.Is(err, context.Canceled) {
						return err
					}
					continue
				}
				acquired.Add(1)
				if err := unlockAgain(t, lock); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	t.Logf("%d acquired, %d cancelled", acquired.Load(), cancelled.Load())
	require.NotZero(t, cancelled.Load())
	w := watchTimers()
	time.Sleep(time.Second)
	time.Sleep(2 * w.close())
	require.Empty(t, tr.keys())
}

// lockTakes returns how long a lock takes on connections that stand.
func (tr *trial) lockTakes(l *redlock.Locker) time.Duration {
	tr.t.Helper()
	tr.warm(l)
	start := time.Now()
	lock, err := l.Lock(tr.t.Context(), "long")
	took := time.Since(start)
	require.NoError(tr.t, err)
	require.NoError(tr.t, unlockAgain(tr.t, lock))
	return took
}

// F36: the request that the lock served is over, its deadline passed or its context cancelled.
func TestUnlockWorksOnAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	for name, ctx := range map[string]context.Context{"cancelled": ended(t), "late": expired(t)} {
		lock := tr.lock(l, name)
		require.NoError(t, lock.Unlock(ctx))
		tr.gone(name)
	}
}
