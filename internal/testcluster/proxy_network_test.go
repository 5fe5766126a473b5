package testcluster_test

import (
	"io"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

func delayed(t *testing.T, n *testcluster.Node) {
	const oneWay, commands = 30 * time.Millisecond, 40
	w := dial(t, n.Addr())
	n.Proxy().Delay(oneWay, oneWay)
	begin := time.Now()
	for range commands { // each in a packet of its own
		w.send("INCR", unique(t))
		time.Sleep(time.Millisecond)
	}
	for i := range commands {
		require.Equal(t, ":"+strconv.Itoa(i+1), w.reply(), "order was lost")
	}
	took := time.Since(begin)
	require.GreaterOrEqual(t, took, 2*oneWay)
	require.Less(t, took, commands*oneWay, "one round trip after the other")
}

func delayedOneWay(t *testing.T, n *testcluster.Node) {
	const oneWay = 200 * time.Millisecond
	w, direct := dial(t, n.Addr()), dial(t, n.Direct())
	n.Proxy().Delay(0, oneWay)
	begin := time.Now()
	w.send("SET", unique(t), "v")
	eventually(t, func() bool { return direct.ask("GET", unique(t)) == "v" }, "not applied")
	require.Equal(t, "+OK", w.reply())
	require.GreaterOrEqual(t, time.Since(begin), oneWay)

	n.Proxy().Delay(oneWay, 0)
	begin = time.Now()
	w.send("DEL", unique(t))
	eventually(t, func() bool { return direct.ask("GET", unique(t)) == "$-1" }, "not applied")
	require.GreaterOrEqual(t, time.Since(begin), oneWay, "the command was early")
}

func hurried(t *testing.T, n *testcluster.Node) {
	w, direct := dial(t, n.Addr()), dial(t, n.Direct())
	require.Equal(t, "+PONG", w.ask("PING"))
	n.Proxy().Delay(time.Hour, 0)
	before := n.Proxy().Sent("INCR")
	w.send("INCR", unique(t))
	eventually(t, func() bool { return n.Proxy().Sent("INCR") > before }, "not read")
	require.Equal(t, "$-1", direct.ask("GET", unique(t)))
	n.Proxy().Delay(0, 0)
	n.Proxy().Hurry()
	require.Equal(t, ":1", w.reply())
}

func underWay(t *testing.T, n *testcluster.Node) {
	w, direct := dial(t, n.Addr()), dial(t, n.Direct())
	require.Equal(t, "+PONG", w.ask("PING"))
	n.Proxy().Delay(100*time.Millisecond, 0)
	w.send("INCR", unique(t))
	time.Sleep(30 * time.Millisecond) // the first is answered while the second is under way
	w.send("INCR", unique(t))
	require.NoError(t, w.conn.SetLinger(0))
	require.NoError(t, w.conn.Close())
	require.Equal(t, "$-1", direct.ask("GET", unique(t)))
	eventually(t, func() bool { return direct.ask("GET", unique(t)) == "2" }, "lost with its sender")
}

func reset(t *testing.T, n *testcluster.Node) {
	w := dial(t, n.Addr())
	require.Equal(t, "+PONG", w.ask("PING"))
	n.Proxy().Reset()
	_, err := w.line(patience)
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.Equal(t, "+PONG", dial(t, n.Addr()).ask("PING"), "new connections suffer")
}

func blackHole(t *testing.T, n *testcluster.Node) {
	loses, idle, direct := dial(t, n.Addr()), dial(t, n.Addr()), dial(t, n.Direct())
	require.Equal(t, "+PONG", loses.ask("PING"))
	require.Equal(t, "+PONG", idle.ask("PING"))
	n.Proxy().BlackHole(true)
	loses.send("SET", unique(t), "v")
	loses.silent()
	n.Proxy().BlackHole(false)
	loses.ended()
	require.Equal(t, "+PONG", idle.ask("PING"), "a connection that lost nothing was ended")
	require.Equal(t, "$-1", direct.ask("GET", unique(t)), "the master got what was to be lost")
}

func blackHoleAccepts(t *testing.T, n *testcluster.Node) {
	n.Proxy().BlackHole(true)
	w, leaves := dial(t, n.Addr()), dial(t, n.Addr())
	w.send("PING")
	w.silent()
	before := n.Proxy().Conns()
	require.NoError(t, leaves.conn.Close())
	eventually(t, func() bool { return n.Proxy().Conns() == before-1 }, "who left is still counted")
	n.Proxy().BlackHole(false)
	w.ended()
}

func refuses(t *testing.T, n *testcluster.Node) {
	w := dial(t, n.Addr())
	require.Equal(t, "+PONG", w.ask("PING"))
	for range 2 {
		n.Proxy().Refuse(true)
		refused(t, n.Addr())
		require.Equal(t, "+PONG", w.ask("PING"), "a connection that existed was ended")
	}
	n.Proxy().Refuse(false)
	require.Equal(t, "+PONG", dial(t, n.Addr()).ask("PING"))
}

func subscription(t *testing.T, n *testcluster.Node) {
	w, other := dial(t, n.Addr()), dial(t, n.Addr())
	require.Equal(t, "+PONG", w.ask("PING"))
	channel := strings.ReplaceAll(unique(t), " ", "-")
	message := func() string {
		parts := []string{w.reply()}
		for range 3 {
			parts = append(parts, w.reply())
		}
		return strings.Join(parts, " ")
	}
	w.send("SUBSCRIBE", channel)
	require.Equal(t, "*3 subscribe "+channel+" :1", message())
	n.Proxy().DropNextReply("GET")
	for range 2 { // no command of this connection asks for them
		require.Equal(t, ":1", other.ask("PUBLISH", channel, "hello"))
		require.Equal(t, "*3 message "+channel+" hello", message())
	}
	require.Equal(t, 1, n.Proxy().Armed())
}

func counts(t *testing.T, n *testcluster.Node) {
	none := func() bool { return n.Proxy().Conns() == 0 }
	eventually(t, none, "connections of the tests before are still counted")
	gets, all := n.Proxy().Sent("get"), n.Proxy().Sent("")
	direct := dial(t, n.Direct())
	eventually(t, func() bool { return clients(direct) == 1 }, "the proxy keeps connections to the master open")
	w := dial(t, n.Addr())
	require.Equal(t, "+PONG", w.ask("PING"))
	require.Equal(t, "$-1", w.ask("GET", "a"))
	require.Equal(t, "$-1", w.ask("GET", "b"))
	require.Equal(t, 1, n.Proxy().Conns())
	require.Equal(t, gets+2, n.Proxy().Sent("get"))
	require.Equal(t, all+3, n.Proxy().Sent(""))
	require.Equal(t, 2, clients(direct))
	require.NoError(t, w.conn.Close())
	eventually(t, none, "a connection that was closed is still counted")
	eventually(t, func() bool { return clients(direct) == 1 }, "the master was not told that the client has gone")
}

// clients returns how many connections the master has.
func clients(w *wire) int {
	w.t.Helper()
	w.send("INFO", "clients")
	header, err := w.line(patience)
	require.NoError(w.t, err)
	size, err := strconv.Atoi(strings.TrimPrefix(header, "$"))
	require.NoError(w.t, err)
	info := make([]byte, size+2)
	_, err = io.ReadFull(w.in, info)
	require.NoError(w.t, err)
	_, rest, found := strings.Cut(string(info), "connected_clients:")
	require.True(w.t, found, string(info))
	number, _, _ := strings.Cut(rest, "\r")
	count, err := strconv.Atoi(number)
	require.NoError(w.t, err)
	return count
}
