package testcluster_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

func TestPartitionDropsPacketsBothWaysUntilItHeals(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		c := start(t, b, 2)
		testcluster.Need(t, c, testcluster.Partition)
		testcluster.Need(t, c, testcluster.Stop)
		n, other := c.Nodes[0], c.Nodes[1]
		for _, addr := range []string{n.Addr(), n.Direct()} {
			requestsAreDropped(t, n, addr)
			repliesAreDropped(t, n, addr)
		}
		require.NoError(t, n.Partition(t.Context()))
		require.NoError(t, n.Partition(t.Context()), "a second partition")
		dialIsNotAnswered(t, n.Addr())
		dialIsNotAnswered(t, n.Direct())
		require.Equal(t, "+PONG", dial(t, other.Addr()).ask("PING"), "another master is cut off, too")

		require.NoError(t, n.Kill(t.Context()))
		require.ErrorContains(t, n.Start(t.Context(), true), "heal the partition first")
		require.NoError(t, n.Heal(t.Context()))
		require.NoError(t, n.Heal(t.Context()), "a second heal")
		refused(t, n.Direct())
		require.NoError(t, n.Start(t.Context(), true))
		require.Equal(t, "+PONG", dial(t, n.Addr()).ask("PING"))
	})
}

// requestsAreDropped holds that what is sent in a partition is applied after it, which the life of the key tells.
func requestsAreDropped(t *testing.T, n *testcluster.Node, addr string) {
	t.Helper()
	const life = 60_000
	w := dial(t, addr)
	require.Equal(t, "+PONG", w.ask("PING"))
	require.NoError(t, n.Partition(t.Context()))
	w.send("SET", "k", addr, "PX", strconv.Itoa(life))
	w.silent()
	healing := time.Now()
	require.NoError(t, n.Heal(t.Context()))
	require.Equal(t, "+OK", w.reply(), "the kernel did not send again")
	left, err := strconv.Atoi(strings.TrimPrefix(w.ask("PTTL", "k"), ":"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, left, life-int(time.Since(healing).Milliseconds())-1, "applied during the partition")
}

// repliesAreDropped holds that what a master answers in a partition arrives after it.
func repliesAreDropped(t *testing.T, n *testcluster.Node, addr string) {
	t.Helper()
	w := dial(t, addr)
	require.Equal(t, "+PONG", w.ask("PING"))
	require.NoError(t, n.Stop(t.Context()))
	w.send("INCR", addr)
	time.Sleep(hush) // until the master's kernel has it, also by way of the proxy
	require.NoError(t, n.Partition(t.Context()))
	require.NoError(t, n.Continue(t.Context()))
	w.silent()
	require.NoError(t, n.Heal(t.Context()))
	require.Equal(t, ":1", w.reply())
}

func dialIsNotAnswered(t *testing.T, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hush)
	defer cancel()
	_, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	require.ErrorContains(t, err, "timeout", "a dial must neither succeed nor be refused")
}
