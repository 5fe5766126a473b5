package quorum_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// masters are five of them, and clients that look at them past their proxies.
type masters struct {
	*testcluster.Cluster
	looks []*redis.Client
}

// idle are the clusters that no test uses at present. A test has one to itself and hands it on as it was, so the clusters
// are as many as the tests that run side by side.
var idle clusters

type clusters struct {
	mu   sync.Mutex // protects what follows
	free []*masters
	ends []func() // of all of them, in the order of their starts
	bad  bool     // one could not be closed
}

// take returns masters that nobody else has. They stay after the test.
func (c *clusters) take(t *testing.T) *masters {
	t.Helper()
	c.mu.Lock()
	if n := len(c.free); n > 0 {
		m := c.free[n-1]
		c.free = c.free[:n-1]
		c.mu.Unlock()
		return m
	}
	c.mu.Unlock()
	return newMasters(t, lasting{t, c})
}

func newMasters(t *testing.T, tb testcluster.TB, opts ...testcluster.StartOption) *masters {
	t.Helper()
	return watched(tb, testcluster.ForTest(tb, 5, append(withRights(t), opts...)...))
}

// watched are the masters of a cluster with clients that look at them.
func watched(tb testcluster.TB, c *testcluster.Cluster) *masters {
	m, user := &masters{Cluster: c}, ""
	if os.Getenv(rightsVariable) != "" {
		user = lookingUser
	}
	for _, n := range m.Nodes {
		look := redis.NewClient(&redis.Options{Addr: n.Direct(), Username: user, Password: user})
		tb.Cleanup(func() { _ = look.Close() })
		m.looks = append(m.looks, look)
	}
	return m
}

func (c *clusters) put(m *masters) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, m)
}

// close ends all of them, after the last test, and tells whether that went well.
func (c *clusters) close() bool {
	for i := len(c.ends) - 1; i >= 0; i-- {
		c.ends[i]()
	}
	return !c.bad
}

// lasting is a test whose clean-up is done after all tests.
type lasting struct {
	*testing.T
	of *clusters
}

func (l lasting) Cleanup(f func()) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.ends = append(l.of.ends, f)
}

// Fatalf is for a start that fails, in the test, and for an end that does, after it.
func (l lasting) Fatalf(format string, args ...any) {
	if l.Context().Err() == nil {
		l.T.Fatalf(format, args...)
	}
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	l.of.bad = true
}
