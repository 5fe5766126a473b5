package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/internal/node"
)

const (
	nodeTimeout = 200 * time.Millisecond // the default
	ttl         = 10 * time.Second       // likewise
	drift       = ttl/100 + 2*time.Millisecond
)

// cluster is a Locker over masters in memory.
type cluster struct {
	*Locker
	masters []*master
}

// newCluster makes n masters that answer at once, and a Locker over them on package time. One test calls it several times
// to have several processes on different masters.
func newCluster(tb testing.TB, n int, opts ...Option) *cluster {
	tb.Helper()
	s := settingsFor(tb, opts...)
	c := &cluster{masters: make([]*master, n)}
	for i := range c.masters {
		c.masters[i] = newMaster(s.nodeTimeout)
	}
	c.Locker = c.another(tb, opts...)
	return c
}

// another is a Locker of another process on the same masters.
func (c *cluster) another(tb testing.TB, opts ...Option) *Locker {
	tb.Helper()
	transports := make([]node.Transport, len(c.masters))
	for i, m := range c.masters {
		transports[i] = m
	}
	return c.over(tb, transports, opts...)
}

// over is a Locker that reaches the masters in its own ways.
func (c *cluster) over(tb testing.TB, transports []node.Transport, opts ...Option) *Locker {
	tb.Helper()
	names := make([]string, len(c.masters))
	for i := range names {
		names[i] = fmt.Sprintf("10.0.0.%d:6379", i+1)
	}
	l := assemble(names, transports, settingsFor(tb, opts...))
	for _, m := range c.masters {
		l.core.listeners = append(l.core.listeners, listener{m})
	}
	tb.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = l.Close(ended)                         // what is still owed ends with the masters
		for l.Close(context.Background()) != nil { // a round trip is under way
		}
		for slices.ContainsFunc(c.masters, func(m *master) bool { return m.busy.Load() > 0 }) { // of a PING, for which it does not wait
			time.Sleep(10 * time.Millisecond)
		}
	})
	return l
}

func settingsFor(tb testing.TB, opts ...Option) settings {
	tb.Helper()
	s := defaults()
	s.clock = clock.Monotonic()
	require.NoError(tb, s.apply(opts))
	return s
}

// bubble runs f on virtual time; a goroutine that f leaves behind for ever fails the test.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// settle waits until the library has nothing to do and owes nothing.
func (c *cluster) settle(t *testing.T) {
	t.Helper()
	start := time.Now()
	time.Sleep(2 * c.core.nodeTimeout) // what is queued now leaves by then, or is owed
	for synctest.Wait(); c.busy(); synctest.Wait() {
		require.Less(t, time.Since(start), time.Hour, "a debt is never paid")
		time.Sleep(20 * time.Millisecond)
	}
}

func (c *cluster) busy() bool {
	return slices.Max(c.core.group.Debts()) > 0 ||
		slices.ContainsFunc(c.masters, func(m *master) bool { return m.busy.Load() > 0 })
}

// ours lists the keys that hold a token of ours, whoever of us that is.
func (c *cluster) ours() []string {
	var all []string
	for i, m := range c.masters {
		for key, value := range m.values() {
			if value != foreign && !strings.Contains(key, counterTag) { // a counter outlives its lock
				all = append(all, fmt.Sprintf("node %d: %s", i, key))
			}
		}
	}
	return all
}

// keyAt is a key whose canary is the node.
func (c *cluster) keyAt(node int) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("k", i); c.core.canary(c.prefixed(key)) == node {
			return key
		}
	}
}

func (c *cluster) prefixed(key string) any { return c.core.prefix + key }

// sent counts the requests of one name, or of all, that left for any node.
func (c *cluster) sent(name string) int {
	synctest.Wait() // what a lane was given by now has left it
	n := 0
	for _, m := range c.masters {
		n += len(m.requests(name))
	}
	return n
}

// each sets the same way to some of the masters.
func (c *cluster) each(w way, nodes ...int) {
	for _, i := range nodes {
		c.masters[i].set(w)
	}
}

// took is how long f runs.
func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// mustTryLock acquires the key, which must be free.
func (c *cluster) mustTryLock(t *testing.T, key string, opts ...LockOption) *Lock {
	t.Helper()
	lock, err := c.TryLock(t.Context(), key, opts...)
	require.NoError(t, err)
	return lock
}

// check is require.ErrorIs (or require.NoError, for a nil want) for goroutines that cannot end the test.
func check(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("want %v, got %v", want, err)
	}
}

// quorumError is the error as a *QuorumError, which it must be.
func quorumError(tb testing.TB, err error) *QuorumError {
	tb.Helper()
	var e *QuorumError
	require.ErrorAs(tb, err, &e)
	return e
}

// after is a context that ends in d with its deadline.
func after(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// rounds is how often a random test is repeated; -short asks for a tenth.
func rounds(n uint64) uint64 {
	if testing.Short() {
		return n / 10
	}
	return n
}
