package quorum_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// F42: the quorum is of what was configured. A Locker that is made while two nodes are dead does not count without them.
func TestNodesThatAreDeadAtTheStartAreCounted(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	for _, n := range tr.Nodes[3:] {
		n.Proxy().Refuse(true)
	}
	l := tr.open()
	lock, err := l.Lock(endsIn(t, time.Minute), "k")
	require.NoError(t, err)
	require.NoError(t, unlockAgain(t, lock))
	tr.Nodes[2].Proxy().Refuse(true)
	tr.Nodes[2].Proxy().Reset()
	_, err = l.TryLock(t.Context(), "k")
	require.ErrorIs(t, err, redlock.ErrNoQuorum, "two of five are no quorum, though they are two of the three that ever answered")
	require.Equal(t, 3, quorumError(t, err).Quorum)
	require.Equal(t, 5, quorumError(t, err).Nodes)
}

// F43: one node that fails, however it does, is one vote that is missing.
func TestOneNodeThatFailsInWhateverWayCostsItsVoteOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]func(tr *trial) *redis.Options{
		"refused": func(*trial) *redis.Options { return &redis.Options{Addr: "127.0.0.1:1"} },
		"unknown": func(*trial) *redis.Options { return &redis.Options{Addr: "no-such-host.invalid:6379"} },
		"black hole": func(tr *trial) *redis.Options {
			tr.Nodes[4].Proxy().BlackHole(true)
			return &redis.Options{Addr: tr.Nodes[4].Addr()}
		},
		"never dialled": func(tr *trial) *redis.Options {
			return &redis.Options{Addr: "127.0.0.1:1", Dialer: tr.dialsForEver}
		},
		"reset after accept": func(tr *trial) *redis.Options {
			return &redis.Options{Addr: tr.resets()}
		},
		"wrong password": func(tr *trial) *redis.Options {
			return &redis.Options{Addr: tr.Nodes[4].Addr(), Username: "nobody", Password: "wrong"}
		},
	}
	for name, fifth := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t)
			clients := tr.onDefaults()
			clients[4] = redis.NewClient(fifth(tr))
			l := tr.over(clients, redlock.WithNodeTimeout(generous))
			for range 5 {
				lock, err := l.TryLock(t.Context(), "k")
				require.NoError(t, err)
				require.NoError(t, lock.Unlock(t.Context()))
			}
		})
	}
}

// dialsForEver is a dialer that comes back when its context ends, or the test does.
func (tr *trial) dialsForEver(ctx context.Context, _, _ string) (net.Conn, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-tr.t.Context().Done():
		return nil, net.ErrClosed
	}
}

// resets returns an address where every connection is accepted and reset.
func (tr *trial) resets() string {
	tr.t.Helper()
	var c net.ListenConfig
	ln, err := c.Listen(tr.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tr.t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	}()
	tr.t.Cleanup(func() {
		_ = ln.Close()
		<-ended
	})
	return ln.Addr().String()
}

// F44: a majority of 1 is 1, of 2 is 2, of 3 is 2, of 4 is 3, of 5 is 3; of none there is none.
func TestQuorumOfEveryNumberOfNodes(t *testing.T) {
	t.Parallel()
	_, err := redlock.New(nil)
	require.ErrorIs(t, err, redlock.ErrInvalid)
	tr := begin(t)
	for nodes := 1; nodes <= 5; nodes++ {
		for dead := range nodes + 1 {
			clients := make([]*redis.Client, nodes)
			for i := range clients {
				addr := tr.Nodes[i].Addr()
				if i < dead {
					addr = fmt.Sprint("127.0.0.1:", i+1)
				}
				clients[i] = redis.NewClient(&redis.Options{Addr: addr, DialerRetries: 1, MaxRetries: -1})
			}
			l := tr.over(clients, redlock.WithNodeTimeout(generous))
			key := fmt.Sprintf("%d of %d", dead, nodes) // its own: what comes late of another round refuses nobody here
			lock, err := l.TryLock(t.Context(), key)
			if nodes-dead >= nodes/2+1 {
				require.NoError(t, err, "%d of %d dead", dead, nodes)
				require.NoError(t, lock.Unlock(t.Context()))
				tr.gone(key)
				continue
			}
			require.ErrorIs(t, err, redlock.ErrNoQuorum, "%d of %d dead", dead, nodes)
			require.NotErrorIs(t, err, redlock.ErrTaken)
			require.Equal(t, nodes/2+1, quorumError(t, err).Quorum)
			tr.gone(key)
		}
	}
}

// F45: what can be seen to be the same twice is refused; what cannot, votes once, since the second answer is no.
func TestTheSameServerTwiceNeverVotesTwice(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	client := func(addr string) *redis.Client { return redis.NewClient(&redis.Options{Addr: addr, DialerRetries: 1}) }
	a, b, other := client(tr.Nodes[0].Addr()), client(tr.Nodes[0].Addr()), client(tr.Nodes[1].Addr())
	for _, same := range [][]*redis.Client{{a, other, a}, {a, b, other}} {
		tr.clients = append(tr.clients, same...)
		_, err := redlock.New(same)
		require.ErrorIs(t, err, redlock.ErrInvalid)
	}
	_, err := redlock.Open([]string{"redis://" + tr.Nodes[0].Addr(), "redis://" + tr.Nodes[0].Addr() + "/1"})
	require.ErrorIs(t, err, redlock.ErrInvalid)

	// One server under two names, and one that is dead: one vote of three.
	dead := client("127.0.0.1:1")
	l := tr.over([]*redis.Client{client(tr.Nodes[0].Addr()), client(tr.Nodes[0].Direct()), dead}, redlock.WithNodeTimeout(generous))
	for range 20 {
		_, err = l.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, redlock.ErrNotAcquired)
		require.Equal(t, 1, quorumError(t, err).Granted)
		tr.gone("k")
	}
}

// F46: a node that became a replica refuses to write. That is a vote missing, with its cause, until it is a master again.
func TestNodesThatBecomeReplicasCostTheirVotesUntilTheyAreMastersAgain(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Config)
	l := tr.open()
	tr.warm(l)
	replica := func(node int) {
		tr.do(node, []any{"replicaof", "no", "one"}, "replicaof", "127.0.0.1", "1") // nobody is there, and nothing is copied
	}
	replica(4)
	replica(3)
	lock := tr.lock(l, "k")
	require.NoError(t, lock.Unlock(t.Context()))
	replica(2)
	_, err := l.TryLock(t.Context(), "k")
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	require.ErrorContains(t, err, "READONLY")
	require.Len(t, quorumError(t, err).Errs, 3)
	for _, node := range []int{2, 3, 4} {
		tr.must(node, "replicaof", "no", "one")
	}
	tr.warm(l)
}

// F50: whichever two nodes stand still or are taken, and in whatever order they are given, the lock is had in its bound.
func TestEveryPairOfBadNodesLeavesTheLockToBeHad(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Stop)
	tr.badNodes(nil, nil)
	for i := range 5 {
		tr.badNodes([]int{i}, nil)
		tr.badNodes(nil, []int{i})
		for j := range 5 {
			if i != j {
				tr.badNodes([]int{i}, []int{j})
			}
		}
		for j := range i {
			tr.badNodes([]int{i, j}, nil)
			tr.badNodes(nil, []int{i, j})
		}
	}
}

// badNodes takes a lock while some nodes stand still and others are somebody else's.
func (tr *trial) badNodes(stopped, taken []int) {
	tr.t.Helper()
	key := fmt.Sprintf("stopped%v, taken%v", stopped, taken)
	l := tr.open()
	tr.warm(l)
	tr.take(key, time.Minute, taken...)
	tr.each(stopped, stop)
	mustBeInTime(tr.t, generous/2, func() {
		lock, err := l.TryLock(tr.t.Context(), key)
		require.NoError(tr.t, err, key)
		require.NoError(tr.t, lock.Unlock(tr.t.Context()), key)
	})
	tr.each(stopped, cont)
	tr.free(key)
}
