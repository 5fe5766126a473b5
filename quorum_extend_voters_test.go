package quorum_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// extendAgain repeats an Extend that finds broken connections to too many nodes, as its documentation says one may.
func extendAgain(t *testing.T, lock *redlock.Lock) error {
	t.Helper()
	var err error
	until(10*time.Second, func() bool {
		err = lock.Extend(t.Context())
		return err == nil || errors.Is(err, redlock.ErrLost) || !errors.Is(err, redlock.ErrNoQuorum)
	})
	return err
}

// forget kills nodes and starts them without their data.
func (tr *trial) forget(nodes ...int) {
	tr.t.Helper()
	tr.each(nodes, kill)
	tr.each(nodes, startEmpty)
}

// repaired extends the lock until every node carries it again, and returns how often that took: once, unless a node was
// found to be gone only by the first question to it.
func (tr *trial) repaired(lock *redlock.Lock) (extends int) {
	tr.t.Helper()
	require.True(tr.t, until(10*time.Second, func() bool {
		require.NoError(tr.t, extendAgain(tr.t, lock))
		extends++
		return until(100*time.Millisecond, func() bool {
			values := slices.Compact(tr.values(lock.Key())) // one who tries in vain has the key where it was forgotten, for a moment
			return len(values) == 1 && values[0] != ""
		})
	}), "%v", tr.values(lock.Key()))
	return extends
}

// mustEndLost holds that the lock was proven to be lost, once and for all, and that it is given back all the same.
func (tr *trial) mustEndLost(lock *redlock.Lock) {
	tr.t.Helper()
	require.ErrorIs(tr.t, lock.Err(), redlock.ErrLost)
	require.Zero(tr.t, lock.Remaining())
	select {
	case <-lock.Done():
	default:
		tr.t.Error("Done is open")
	}
	before := tr.sent("evalsha") + tr.sent("eval")
	require.ErrorIs(tr.t, lock.Extend(tr.t.Context()), redlock.ErrLost)
	require.ErrorIs(tr.t, lock.KeepAlive(tr.t.Context()), redlock.ErrLost)
	require.Equal(tr.t, before, tr.sent("evalsha")+tr.sent("eval"), "nothing is sent for a lock that has ended")
	require.ErrorIs(tr.t, lock.Unlock(tr.t.Context()), redlock.ErrLost)
	tr.gone(lock.Key())
}

// I7. A holds five nodes, three come back empty, B holds and gives back; A's keys on the other two are no majority.
func TestExtendIsLostAfterThreeOfFiveNodesForgot(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.KillEmpty)
	ttl := redlock.WithTTL(time.Minute)
	a := tr.lockAll(tr.open(ttl), "k")
	tr.forget(0, 2, 4)
	b := tr.openAt(tr.urls(true), ttl)
	lock, err := b.Lock(endsIn(t, 10*time.Second), "k")
	require.NoError(t, err)
	require.NoError(t, unlockAgain(t, lock))

	require.Positive(t, a.Remaining())
	require.ErrorIs(t, extendAgain(t, a), redlock.ErrLost)
	require.Equal(t, []int{1, 3}, tr.holders("k"), "and nothing is repaired")
	tr.mustEndLost(a)
}

// I7. A holds three nodes, its SETs to the other two outlast the node timeout. One of the three comes back empty, B holds it
// and the other two and gives back, and then the stragglers land: four nodes carry A's key, and B held in between.
func TestExtendDoesNotCountStragglersThatCameAfterTheNodeTimeout(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.KillEmpty)
	ttl := redlock.WithTTL(time.Minute)
	const timeout = 300 * time.Millisecond
	l := tr.open(ttl, redlock.WithNodeTimeout(timeout))
	b := tr.openAt(tr.urls(true), ttl)
	tr.warm(l)
	for _, n := range tr.Nodes[3:] {
		n.Proxy().Delay(time.Hour, 0)
	}
	a, err := l.Lock(endsIn(t, 10*time.Second), "k")
	require.NoError(t, err)
	late := time.After(timeout)
	tr.heldBy(3, "k")
	for _, n := range tr.Nodes[3:] {
		n.Proxy().Delay(0, 0) // bytes under way keep their delay
	}
	tr.forget(2)
	lock, err := b.Lock(endsIn(t, 10*time.Second), "k")
	require.NoError(t, err)
	require.NoError(t, unlockAgain(t, lock))
	require.Equal(t, []int{0, 1}, tr.holders("k"), "the stragglers are to come after B")
	<-late // sooner they would be votes in time, and A1 would be broken

	for _, n := range tr.Nodes[3:] {
		n.Proxy().Hurry()
	}
	require.True(t, until(10*time.Second, func() bool { return len(tr.holders("k")) == 4 }))
	require.NoError(t, unlockAgain(t, tr.lockAll(l, "all nodes answer"))) // none is passed over as suspect
	require.ErrorIs(t, extendAgain(t, a), redlock.ErrLost)
	tr.mustEndLost(a)
}

// F23, I7. Two nodes of five come back empty: the other three still vote, and the two get the key back.
func TestExtendGivesTheKeyBackToTwoNodesThatForgot(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]redlock.LockOption{"one key": nil, "fenced": {redlock.WithFencing()}, "keys": {redlock.WithKeys("k2", "k3")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t, testcluster.KillEmpty)
			lock := tr.lockAll(tr.open(redlock.WithTTL(time.Minute)), "k", opts...)
			want := tr.values("k")
			tr.forget(1, 3)
			tr.repaired(lock)
			require.Equal(t, want, tr.values("k"))
			if name == "keys" {
				tr.heldBy(5, "k2")
				tr.heldBy(5, "k3")
			}
			if name == "fenced" {
				for _, look := range tr.looks {
					fence, err := look.Get(t.Context(), tr.prefix+counterTag+"k").Int64()
					require.NoError(t, err)
					require.Equal(t, lock.Fence(), fence, "with the key comes the fence")
				}
			}
			for _, look := range tr.looks {
				require.Greater(t, look.PTTL(t.Context(), tr.prefix+"k").Val(), 50*time.Second)
			}
			_, err := tr.openAt(tr.urls(true)).TryLock(t.Context(), "k")
			require.ErrorIs(t, err, redlock.ErrTaken)
			require.NoError(t, lock.Unlock(t.Context()))
			tr.gone("k")
		})
	}
}

// I7. All five nodes are restarted empty, one after the other. One won Extend after each is enough: it repairs the node, and
// as it began after the repair of the one before, makes that one a voter again. So two nodes at most are none at any time.
func TestALockOutlivesARollingRestartOfAllNodesWithOneExtendAfterEach(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.KillEmpty)
	lock := tr.lockAll(tr.open(redlock.WithTTL(time.Minute)), "k")
	want := tr.values("k")
	b := tr.openAt(tr.urls(true))
	extends := 0
	for node := range tr.Nodes {
		tr.forget(node)
		_, err := b.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, redlock.ErrTaken, "node %d", node)
		extends += tr.repaired(lock)
	}
	t.Logf("%d Extends", extends)
	require.Equal(t, want, tr.values("k"))
	require.NoError(t, lock.Extend(t.Context()))
	require.NoError(t, lock.Err())
	require.NoError(t, lock.Unlock(t.Context()))
	tr.gone("k")
}

// F47. An empty server takes the place of a node, as where a failover promotes a replica that has no copy.
func TestANodeReplacedByAnEmptyServerCostsNothing(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.KillEmpty)
	lock := tr.lockAll(tr.open(redlock.WithTTL(time.Minute)), "k")
	tr.forget(0)
	_, err := tr.openAt(tr.urls(true)).TryLock(t.Context(), "k")
	require.ErrorIs(t, err, redlock.ErrTaken)
	require.NoError(t, extendAgain(t, lock))
	require.NoError(t, lock.Unlock(t.Context()))
	tr.gone("k")
}

// F70. Nodes that run out of memory evict the keys that are about to expire, which locks are.
func TestEvictionOnTwoNodesCostsNothingAndOnThreeTheLock(t *testing.T) {
	t.Parallel()
	for name, evicting := range map[string][]int{"two": {0, 1}, "three": {0, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t, testcluster.Config)
			lock := tr.lockAll(tr.open(redlock.WithTTL(time.Minute)), "k")
			want := tr.values("k")
			for _, node := range evicting {
				tr.evict(node)
			}
			require.Equal(t, all[len(evicting):], tr.holders("k"))
			if len(evicting) == 3 {
				require.ErrorIs(t, extendAgain(t, lock), redlock.ErrLost)
				tr.mustEndLost(lock)
				return
			}
			_, err := tr.open().TryLock(t.Context(), "k")
			require.ErrorIs(t, err, redlock.ErrTaken)
			tr.repaired(lock)
			require.Equal(t, want, tr.values("k"))
			require.NoError(t, lock.Unlock(t.Context()))
			tr.gone("k")
		})
	}
}

// evict lets a node throw away all keys that have a TTL, as if others had filled it.
func (tr *trial) evict(node int) {
	tr.t.Helper()
	tr.do(node, []any{"config", "set", "maxmemory-policy", "noeviction"}, "config", "set", "maxmemory-policy", "volatile-ttl")
	tr.do(node, []any{"config", "set", "maxmemory", "0"}, "config", "set", "maxmemory", "1")
	require.True(tr.t, until(generous, func() bool {
		n, err := tr.looks[node].DBSize(tr.t.Context()).Result()
		return err == nil && n == 0
	}))
	tr.must(node, "config", "set", "maxmemory", "0")
}
