package quorum_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// trial is one test's five masters, and what it does to them. Unless it is said otherwise its methods are for the test's
// own goroutine.
type trial struct {
	*masters
	t       *testing.T
	prefix  string // of every key on the wire
	lockers []*redlock.Locker
	clients []*redis.Client
	foreign []string // keys of somebody else, to be removed
}

// foreignToken is somebody else's. No token of ours begins like this.
const foreignToken = "foreign token"

var trials atomic.Int64

// begin gives the test five masters for itself, of those that tests hand on. It skips the test where the back end cannot
// make one of the faults. When the test ends all faults end, and nothing of the library may be left on any master.
func begin(t *testing.T, faults ...testcluster.Fault) *trial {
	t.Helper()
	m := idle.take(t)
	tr := &trial{masters: m, t: t, prefix: fmt.Sprintf("trial%d:", trials.Add(1))}
	t.Cleanup(func() {
		tr.end()
		if !t.Failed() {
			idle.put(m)
		}
	})
	for _, f := range faults {
		testcluster.Need(t, m.Cluster, f)
	}
	return tr
}

// beginAlone is begin with masters that nobody has after this test, started with options.
func beginAlone(t *testing.T, faults []testcluster.Fault, opts ...testcluster.StartOption) *trial {
	t.Helper()
	tr := &trial{masters: newMasters(t, t, opts...), t: t, prefix: fmt.Sprintf("trial%d:", trials.Add(1))}
	t.Cleanup(tr.end)
	for _, f := range faults {
		testcluster.Need(t, tr.Cluster, f)
	}
	return tr
}

// end holds that nothing is left, and brings the masters back into the state in which they were.
func (tr *trial) end() {
	tr.t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	for _, n := range tr.Nodes {
		n.Proxy().Pass()
		if err := n.Continue(ctx); err != nil {
			tr.t.Errorf("continue: %v", err)
		}
	}
	for i, look := range tr.looks {
		counters, err := look.Keys(ctx, tr.prefix+counterTag+"*").Result()
		if err != nil {
			tr.t.Errorf("node %d: %v", i, err)
		}
		for _, key := range append(counters, tr.foreign...) {
			if err := look.Del(ctx, key).Err(); err != nil {
				tr.t.Errorf("node %d: %v", i, err)
			}
		}
	}
	// A node that was silent is asked again within a second; a second after it has answered nothing may be there.
	if !tr.t.Failed() && !until(3*time.Second, func() bool { return len(tr.keys()) == 0 }) {
		tr.t.Errorf("left on the masters: %v", tr.keys())
	}
	ended, end := context.WithCancel(ctx)
	end()
	for _, l := range tr.lockers {
		_ = l.Close(ended) // what it owed was shown to be paid, and what may yet come cannot: the masters ran on
	}
	for _, c := range tr.clients {
		_ = c.Close() // a test may have closed it
	}
}

// urls are those of the proxies, or of the masters themselves.
func (tr *trial) urls(direct bool) []string {
	all := make([]string, len(tr.Nodes))
	for i, n := range tr.Nodes {
		all[i] = "redis://" + n.Addr()
		if direct {
			all[i] = "redis://" + n.Direct()
		}
	}
	return all
}

// open returns a Locker of [redlock.Open] through the proxies. The node timeout is generous where an option does not say
// otherwise: on a busy machine a test of something else must not fail by it.
func (tr *trial) open(opts ...redlock.Option) *redlock.Locker {
	tr.t.Helper()
	return tr.openAt(tr.urls(false), opts...)
}

func (tr *trial) openAt(urls []string, opts ...redlock.Option) *redlock.Locker {
	tr.t.Helper()
	all := append([]redlock.Option{redlock.WithPrefix(tr.prefix), redlock.WithNodeTimeout(generous)}, opts...)
	l, err := redlock.Open(urls, all...)
	require.NoError(tr.t, err)
	tr.lockers = append(tr.lockers, l)
	return l
}

const generous = 2 * time.Second

// over returns a Locker of [redlock.New] over the clients, which are closed after it.
func (tr *trial) over(clients []*redis.Client, opts ...redlock.Option) *redlock.Locker {
	tr.t.Helper()
	tr.clients = append(tr.clients, clients...)
	l, err := redlock.New(clients, append([]redlock.Option{redlock.WithPrefix(tr.prefix)}, opts...)...)
	require.NoError(tr.t, err)
	tr.lockers = append(tr.lockers, l)
	return l
}

// onDefaults returns clients of the proxies with go-redis's own default options.
func (tr *trial) onDefaults() []*redis.Client {
	clients := make([]*redis.Client, len(tr.Nodes))
	for i, n := range tr.Nodes {
		clients[i] = redis.NewClient(&redis.Options{Addr: n.Addr()})
	}
	return clients
}

// warm acquires and releases on all five nodes, so that connections stand and scripts are known.
func (tr *trial) warm(l *redlock.Locker) {
	tr.t.Helper()
	tr.warmFor(l, "warm")
}

// warmFor is warm on a key: its canary is sent a script that no other node is.
func (tr *trial) warmFor(l *redlock.Locker, key string) {
	tr.t.Helper()
	require.NoError(tr.t, unlockAgain(tr.t, tr.lockAll(l, key, redlock.WithTTL(time.Minute))))
	tr.gone(key)
}

// lockAll acquires the key, which is free, on all five nodes, and not only on the majority that is enough.
func (tr *trial) lockAll(l *redlock.Locker, key string, opts ...redlock.LockOption) *redlock.Lock {
	tr.t.Helper()
	var lock *redlock.Lock
	require.True(tr.t, until(time.Minute, func() bool {
		var err error
		lock, err = l.Lock(endsIn(tr.t, time.Minute), key, opts...)
		require.NoError(tr.t, err)
		if until(500*time.Millisecond, func() bool { return len(tr.holders(key)) == len(tr.Nodes) }) {
			return true
		}
		_ = unlockAgain(tr.t, lock) // it may have run out on a machine as slow as that
		tr.gone(key)
		return false
	}), "the machine is too slow to get an answer of all nodes")
	return lock
}

// lock acquires the key, which is free.
func (tr *trial) lock(l *redlock.Locker, key string, opts ...redlock.LockOption) *redlock.Lock {
	tr.t.Helper()
	lock, err := l.TryLock(tr.t.Context(), key, opts...)
	require.NoError(tr.t, err)
	return lock
}

// take gives the key to somebody else on some of the nodes; ttl 0 is without end.
func (tr *trial) take(key string, ttl time.Duration, nodes ...int) {
	tr.t.Helper()
	tr.foreign = append(tr.foreign, tr.prefix+key)
	for _, i := range nodes {
		require.NoError(tr.t, tr.looks[i].Set(tr.t.Context(), tr.prefix+key, foreignToken, ttl).Err())
	}
}

// free ends what take began.
func (tr *trial) free(key string) {
	tr.t.Helper()
	for _, look := range tr.looks {
		require.NoError(tr.t, look.Del(tr.t.Context(), tr.prefix+key).Err())
	}
}

// each does something to some of the nodes at once.
func (tr *trial) each(nodes []int, f func(ctx context.Context, n *testcluster.Node) error) {
	tr.t.Helper()
	g, ctx := errgroup.WithContext(tr.t.Context())
	for _, i := range nodes {
		g.Go(func() error { return f(ctx, tr.Nodes[i]) })
	}
	require.NoError(tr.t, g.Wait())
}

func stop(ctx context.Context, n *testcluster.Node) error { return n.Stop(ctx) }
func cont(ctx context.Context, n *testcluster.Node) error { return n.Continue(ctx) }
func kill(ctx context.Context, n *testcluster.Node) error { return n.Kill(ctx) }

func startEmpty(ctx context.Context, n *testcluster.Node) error { return n.Start(ctx, true) }
func startKept(ctx context.Context, n *testcluster.Node) error  { return n.Start(ctx, false) }

var all = []int{0, 1, 2, 3, 4}

// sent counts the commands of one name that the nodes were sent through their proxies.
func (tr *trial) sent(command string) int {
	sum := 0
	for _, n := range tr.Nodes {
		sum += n.Proxy().Sent(command)
	}
	return sum
}

// quorumError is the error as a *QuorumError, which it must be.
func quorumError(t *testing.T, err error) *redlock.QuorumError {
	t.Helper()
	var e *redlock.QuorumError
	require.ErrorAs(t, err, &e)
	return e
}

// endsIn is a context with a deadline.
func endsIn(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
