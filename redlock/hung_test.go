package redlock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	_ "github.com/quorumlock/go-redlock/internal/testcluster/containers" // the best masters there are
)

// One of five real masters stands still for a minute under the load of 128 callers on clients with default options. What
// it is owed is what it may truly hold, at most two keys a caller, though each caller makes thousands of calls meanwhile; all
// of it is paid when it answers again, and no other node is owed anything or served less.
func TestANodeThatStandsStillForAMinuteIsOwedWhatIsTrueAndIsPaid(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes more than a minute")
	}
	const callers, stopped = 128, 3
	masters := testcluster.ForTest(t, 5)
	testcluster.Need(t, masters, testcluster.Stop)
	clients := make([]*redis.Client, len(masters.Nodes))
	for i, n := range masters.Nodes {
		clients[i] = redis.NewClient(&redis.Options{Addr: n.Direct()})
		t.Cleanup(func() { require.NoError(t, clients[i].Close()) })
	}
	l, err := New(clients, WithPrefix("hung:"))
	require.NoError(t, err)
	d := drive(t, l, callers)

	const quiet = 5 * time.Second
	before := d.during(quiet)
	require.NoError(t, masters.Nodes[stopped].Stop(t.Context()))
	most, others := 0, 0
	d.watch = func(debts []int) {
		most = max(most, debts[stopped])
		debts[stopped] = 0
		others = max(others, slices.Max(debts))
	}
	d.during(quiet) // until the node is known to be silent, and connections to it are given up
	after := d.during(time.Minute - quiet)
	require.NoError(t, masters.Nodes[stopped].Continue(t.Context()))
	d.watch = func([]int) {}
	d.during(ttl) // under load too
	d.stop()

	t.Logf("cycles/s: %.0f with five nodes, %.0f with four; failed: %d", before, after, d.failed.Load())
	t.Logf("keys owed to the stopped node at most: %d; to any other: %d", most, others)
	require.Greater(t, after, before/3, "the others serve as before, within what a machine does to a test in a minute")
	require.Positive(t, most, "it was stopped in the middle of calls")
	// Of each caller the pipeline under way may carry the release of one lock, which the majority confirmed, and the SET of
	// the next.
	require.LessOrEqual(t, most, 2*callers)
	require.Eventually(t, func() bool { return slices.Max(l.core.group.Debts()) == 0 }, 2*ttl, 10*time.Millisecond)
	for i, c := range clients {
		require.Eventually(t, func() bool {
			keys, err := c.Keys(t.Context(), "hung:*").Result()
			return err == nil && len(keys) == 0
		}, 2*time.Second, 10*time.Millisecond, "node %d", i)
	}
	require.NoError(t, l.Close(t.Context()))
}

// driver is callers that take and give back a lock each, over and over.
type driver struct {
	t              *testing.T
	l              *Locker
	cycles, failed atomic.Int64
	end            context.CancelFunc
	callers        sync.WaitGroup
	watch          func(debts []int) // called now and then
}

func drive(t *testing.T, l *Locker, callers int) *driver {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	d := &driver{t: t, l: l, end: end, watch: func([]int) {}}
	t.Cleanup(d.stop)
	for i := range callers {
		d.callers.Go(func() { d.call(ctx, fmt.Sprint("k", i)) })
	}
	return d
}

func (d *driver) call(ctx context.Context, key string) {
	for ctx.Err() == nil {
		lock, err := d.l.TryLock(ctx, key)
		if err == nil {
			err = lock.Unlock(ctx)
		}
		if err == nil {
			d.cycles.Add(1)
		} else if ctx.Err() == nil {
			d.failed.Add(1)
		}
	}
}

// during lets the callers go on for a while and returns their cycles a second.
func (d *driver) during(while time.Duration) float64 {
	start, before := time.Now(), d.cycles.Load()
	for time.Since(start) < while {
		d.watch(d.l.core.group.Debts())
		time.Sleep(20 * time.Millisecond)
	}
	return float64(d.cycles.Load()-before) / time.Since(start).Seconds()
}

func (d *driver) stop() {
	d.end()
	d.callers.Wait()
}
