package quorum_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// Packets are dropped for ten seconds and nobody is told. What the kernel still had for connections closed meanwhile must
// not arrive when the way is free again: the TTL is long, so that a key that came would be seen.
func TestNoKeyComesOutOfAPartitionThatHeals(t *testing.T) {
	t.Parallel()
	cut := map[string][]int{"one node": {2}, "three nodes": {0, 1, 4}}
	for name, nodes := range cut {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t, testcluster.Partition)
			clients := make([]*redis.Client, len(tr.Nodes))
			for i, n := range tr.Nodes {
				clients[i] = redis.NewClient(&redis.Options{Addr: n.Direct()}) // the proxy's own kernel buffers are no part of this
			}
			heard := listen(clients)
			ttl := redlock.WithTTL(time.Minute)
			given := tr.over(clients, ttl)
			opened := tr.openAt(tr.urls(true), ttl, redlock.WithNodeTimeout(200*time.Millisecond))
			for _, l := range []*redlock.Locker{given, opened} {
				tr.warm(l)
			}
			before := []*redlock.Lock{tr.lock(given, "before, given"), tr.lock(opened, "before, opened")}

			tr.partition(nodes)
			over := time.Now().Add(10 * time.Second)
			for _, lock := range before {
				if err := lock.Unlock(t.Context()); err != nil {
					require.ErrorIs(t, err, redlock.ErrNoQuorum)
				}
			}
			for time.Now().Before(over) {
				for name, l := range map[string]*redlock.Locker{"given": given, "opened": opened} {
					if lock, err := l.TryLock(t.Context(), name); err == nil {
						_ = lock.Unlock(t.Context()) // on nodes enough, or not: no key may be left either way
					}
				}
				time.Sleep(200 * time.Millisecond)
			}
			since := time.Now()
			tr.each(nodes, func(ctx context.Context, n *testcluster.Node) error { return n.Heal(ctx) })
			answered := heard.after(tr, since, nodes)
			time.Sleep(time.Until(answered.Add(2 * time.Second))) // one, and up to one until the other Locker asks again
			for end := time.Now().Add(25 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				require.Empty(t, tr.keys())
			}
		})
	}
}

// partition cuts the nodes off, until the test ends at the latest.
func (tr *trial) partition(nodes []int) {
	tr.t.Helper()
	tr.each(nodes, func(ctx context.Context, n *testcluster.Node) error { return n.Partition(ctx) })
	tr.t.Cleanup(func() { // before end looks at the masters
		ctx, cancel := bounded()
		defer cancel()
		for _, i := range nodes {
			require.NoError(tr.t, tr.Nodes[i].Heal(ctx))
		}
	})
}
