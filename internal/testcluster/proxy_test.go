package testcluster_test

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// TestProxy runs every fault of the proxy in front of a master of every back end, one after the other.
func TestProxy(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		n := start(t, b, 1).Nodes[0]
		for name, test := range map[string]func(*testing.T, *testcluster.Node){
			"a dropped reply is of an applied command and ends the connection": dropClosesConnection,
			"a dropped reply can leave the connection open":                    dropStaysSilent,
			"greetings use up no fault":                                        greetingsAreSpared,
			"a fault meets the command it is named for in a pipeline":          dropInPipeline,
			"a number of replies is dropped":                                   dropSeveral,
			"what is under way can be made to arrive":                          hurried,
			"what met nothing is taken back":                                   disarmed,
			"any bytes can stand in for a reply":                               answers,
			"a swallowed reply makes the next one take its place":              swallowed,
			"replies can be rewritten":                                         rewritten,
			"a delay is a latency and not a throttle":                          delayed,
			"a delay holds back each direction by itself":                      delayedOneWay,
			"what is under way arrives when its sender has gone":               underWay,
			"a reset reaches the client":                                       reset,
			"a black hole delivers nothing and resets who lost something":      blackHole,
			"a black hole accepts":                                             blackHoleAccepts,
			"refused connections come back on the same port":                   refuses,
			"subscriptions pass":                                               subscription,
			"connections and commands are counted":                             counts,
		} {
			require.True(t, t.Run(name, func(t *testing.T) { test(t, n) }))
			n.Proxy().Pass()
		}
	})
}

// unique returns a key that no other test on the same master uses.
func unique(t *testing.T) string { return t.Name() }

func dropClosesConnection(t *testing.T, n *testcluster.Node) {
	w, other := dial(t, n.Addr()), dial(t, n.Addr())
	require.Equal(t, "+PONG", w.ask("PING"))
	n.Proxy().DropNextReply()
	require.Equal(t, 1, n.Proxy().Armed())
	w.send("SET", unique(t), "v")
	w.ended()
	require.Zero(t, n.Proxy().Armed())
	require.Equal(t, "v", other.ask("GET", unique(t)), "the command was not applied, or another connection suffers")
}

func dropStaysSilent(t *testing.T, n *testcluster.Node) {
	w, other := dial(t, n.Addr()), dial(t, n.Addr())
	n.Proxy().DropReplies(1, testcluster.ThenSilent)
	w.send("SET", unique(t), "1")
	w.silent()
	w.send("INCR", unique(t))
	w.silent()
	require.Equal(t, "2", other.ask("GET", unique(t)))
	n.Proxy().Pass()
	w.ended()
}

func greetingsAreSpared(t *testing.T, n *testcluster.Node) {
	w := dial(t, n.Addr())
	n.Proxy().DropNextReply()
	require.Equal(t, "+PONG", w.ask("PING"))
	require.Equal(t, "+OK", w.ask("SELECT", "0"))
	require.Equal(t, "+OK", w.ask("CLIENT", "SETNAME", "x"))
	require.Equal(t, 1, n.Proxy().Armed())
	n.Proxy().DropNextReply("ping")
	w.send("PING")
	w.ended()
}

func dropInPipeline(t *testing.T, n *testcluster.Node) {
	w, other := dial(t, n.Addr()), dial(t, n.Addr())
	n.Proxy().DropNextReply("INCR")
	key := unique(t)
	_, err := w.conn.Write([]byte(encode("SET", key, "1") + encode("INCR", key) + encode("INCRBY", key, "10")))
	require.NoError(t, err)
	require.Equal(t, "+OK", w.reply())
	w.ended()
	eventually(t, func() bool { return other.ask("GET", key) == "12" }, "not all of the pipeline was applied")
}

func dropSeveral(t *testing.T, n *testcluster.Node) {
	n.Proxy().DropReplies(2, testcluster.ThenClose)
	for range 2 {
		w := dial(t, n.Addr())
		w.send("INCR", unique(t))
		w.ended()
	}
	require.Equal(t, ":3", dial(t, n.Addr()).ask("INCR", unique(t)))
}

func disarmed(t *testing.T, n *testcluster.Node) {
	w, other := dial(t, n.Addr()), dial(t, n.Addr())
	n.Proxy().DropReplies(3, testcluster.ThenClose, "INCR")
	n.Proxy().AnswerNext([]byte("+nonsense\r\n"), "GET")
	w.send("INCR", unique(t))
	w.ended()
	require.Equal(t, 3, n.Proxy().Disarm())
	require.Zero(t, n.Proxy().Armed())
	require.Equal(t, ":2", other.ask("INCR", unique(t)))
	require.Equal(t, "2", other.ask("GET", unique(t)))
	require.Zero(t, n.Proxy().Disarm())
}

func answers(t *testing.T, n *testcluster.Node) {
	w := dial(t, n.Addr())
	noise := bytes.Repeat([]byte{'x', 0, 0xff, '\r'}, 1<<18)
	for i, raw := range [][]byte{[]byte("$9223372036854775800\r\n"), []byte(":1\r\n"), []byte("*2\r\n+a\r\n+b\r\n"), append(noise, '\n')} {
		n.Proxy().AnswerNext(raw, "SET")
		w.send("SET", unique(t), strconv.Itoa(i))
		got := make([]byte, len(raw))
		require.NoError(t, w.conn.SetReadDeadline(time.Now().Add(patience)))
		for read := 0; read < len(got); {
			m, err := w.in.Read(got[read:])
			require.NoError(t, err)
			read += m
		}
		require.True(t, bytes.Equal(raw, got), "other bytes came")
		require.Equal(t, strconv.Itoa(i), w.ask("GET", unique(t)), "the command was not applied, or more came than the answer")
	}
}

func swallowed(t *testing.T, n *testcluster.Node) {
	w := dial(t, n.Addr())
	n.Proxy().AnswerNext(nil)
	w.send("SET", unique(t), "v")
	w.silent()
	w.send("INCR", unique(t)+"2")
	require.Equal(t, ":1", w.reply())
}

func rewritten(t *testing.T, n *testcluster.Node) {
	w := dial(t, n.Addr())
	n.Proxy().Rewrite(func(command string, reply []byte) []byte {
		return []byte("+" + command + " " + strconv.Quote(string(reply)) + "\r\n")
	})
	require.Equal(t, `+SET "+OK\r\n"`, w.ask("set", unique(t), "v"))
	require.Equal(t, `+GET "$1\r\nv\r\n"`, w.ask("GET", unique(t)))
	n.Proxy().Rewrite(nil)
	require.Equal(t, "v", w.ask("GET", unique(t)))
}
