package testcluster_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	_ "github.com/quorumlock/go-redlock/internal/testcluster/containers"
)

// forEachBackend runs a test on every back end, or on the one that the environment forces.
func forEachBackend(t *testing.T, test func(t *testing.T, b testcluster.Backend)) {
	t.Helper()
	t.Parallel()
	backends := []testcluster.Backend{testcluster.Containers, testcluster.Processes, testcluster.Embedded}
	if forced := os.Getenv("CLUSTER"); forced != "" {
		backends = []testcluster.Backend{testcluster.Backend(forced)}
	}
	for _, b := range backends {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			needPresent(t, b)
			test(t, b)
		})
	}
}

// needPresent skips the test where the back end is not to be had, or fails it where nothing may be skipped.
func needPresent(t *testing.T, b testcluster.Backend) {
	t.Helper()
	err := testcluster.Present(t.Context(), b)
	if err != nil && os.Getenv("REDLOCK_REQUIRE") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
}

func start(t *testing.T, b testcluster.Backend, n int, opts ...testcluster.StartOption) *testcluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := testcluster.Start(ctx, b, n, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestMastersKnowNothingOfEachOther(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		c := start(t, b, 2)
		require.Equal(t, b, c.Backend)
		require.Len(t, c.Addrs(), 2)
		seen := map[string]bool{}
		for i, n := range c.Nodes {
			seen[n.Addr()], seen[n.Direct()] = true, true
			w := dial(t, n.Addr())
			require.Equal(t, "$-1", w.ask("GET", "k"), "node %d knows a key of another", i)
			require.Equal(t, "+OK", w.ask("SET", "k", "v"))
			direct := dial(t, n.Direct())
			require.Equal(t, "v", direct.ask("GET", "k"), "the proxy leads elsewhere")
			require.Equal(t, "+OK", direct.ask("SET", "short", "v", "PX", "20"))
			eventually(t, func() bool { return direct.ask("GET", "short") == "$-1" }, "a key outlives its time")
		}
		require.Len(t, seen, 4, "two servers share an address")
	})
}

func TestKillKeepKeepsDataAndPortsAndForgetsScripts(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		c := start(t, b, 1, testcluster.Persistent())
		testcluster.Need(t, c, testcluster.KillKeep)
		n := c.Nodes[0]
		addr, direct := n.Addr(), n.Direct()
		w := dial(t, addr)
		require.Equal(t, "+OK", w.ask("SET", "k", "v", "PX", "60000"))
		sha := w.ask("SCRIPT", "LOAD", "return 1")

		require.NoError(t, n.Kill(t.Context()))
		w.ended()
		refused(t, addr)
		refused(t, direct)
		require.ErrorContains(t, n.Kill(t.Context()), "it is killed")
		require.ErrorContains(t, n.Stop(t.Context()), "it is killed")

		require.NoError(t, n.Start(t.Context(), false))
		require.Equal(t, []string{addr, direct}, []string{n.Addr(), n.Direct()})
		w = dial(t, addr)
		require.Equal(t, "v", w.ask("GET", "k"))
		require.Contains(t, w.ask("EVALSHA", sha, "0"), "-NOSCRIPT")
		require.ErrorContains(t, n.Start(t.Context(), false), "it is running")

		require.NoError(t, n.Stop(t.Context()))
		w.send("SET", "late", "v")
		w.silent()
		require.NoError(t, n.Kill(t.Context()))
		w.ended()
		require.NoError(t, n.Start(t.Context(), false))
		w = dial(t, addr)
		require.Equal(t, "v", w.ask("GET", "k"))
		require.Equal(t, "$-1", w.ask("GET", "late"), "a stopped master that was killed ran what it was sent")

		require.NoError(t, n.Kill(t.Context()))
		require.NoError(t, n.Start(t.Context(), true))
		require.Equal(t, "$-1", dial(t, addr).ask("GET", "k"), "an empty start kept the data")
	})
}

func TestKillEmptyForgets(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		c := start(t, b, 1)
		testcluster.Need(t, c, testcluster.KillEmpty)
		n := c.Nodes[0]
		require.Equal(t, "+OK", dial(t, n.Direct()).ask("SET", "k", "v"))
		require.NoError(t, n.Kill(t.Context()))
		require.ErrorContains(t, n.Start(t.Context(), false), "Persistent")
		require.NoError(t, n.Start(t.Context(), true))
		require.Equal(t, "$-1", dial(t, n.Addr()).ask("GET", "k"))
	})
}

func TestStopHangsAndContinueRunsWhatWasSentMeanwhile(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		c := start(t, b, 1)
		testcluster.Need(t, c, testcluster.Stop)
		n := c.Nodes[0]
		for _, addr := range []string{n.Direct(), n.Addr()} {
			stays, leaves := dial(t, addr), dial(t, addr)
			require.Equal(t, "+PONG", stays.ask("PING"))
			require.Equal(t, "+PONG", leaves.ask("PING"))

			require.NoError(t, n.Stop(t.Context()))
			require.NoError(t, n.Stop(t.Context()), "a second stop")
			stays.send("SET", "stays", addr)
			leaves.send("SET", "leaves", addr)
			newcomer := dial(t, addr) // a stopped server's connections are still accepted
			newcomer.send("PING")
			stays.silent()
			require.NoError(t, leaves.conn.Close())

			require.NoError(t, n.Continue(t.Context()))
			require.NoError(t, n.Continue(t.Context()), "a second continue")
			require.Equal(t, "+OK", stays.reply())
			require.Equal(t, "+PONG", newcomer.reply())
			require.Equal(t, addr, stays.ask("GET", "stays"))
			eventually(t, func() bool { return stays.ask("GET", "leaves") == addr }, "the command of who left was not run")
		}
	})
}

func TestServerArgsReachTheServer(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := testcluster.Start(ctx, b, 1, testcluster.ServerArgs("--requirepass", "secret"))
		if b == testcluster.Embedded {
			require.ErrorContains(t, err, "unsupported")
			return
		}
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		testcluster.Need(t, c, testcluster.Config)
		w := dial(t, c.Nodes[0].Addr())
		require.Contains(t, w.ask("GET", "k"), "-NOAUTH")
		require.Equal(t, "+OK", w.ask("AUTH", "secret"))
	})
}

func TestAServerThatCannotStartSaysWhyAndLeavesNothing(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		if b == testcluster.Embedded {
			return // takes no arguments that could be wrong
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := testcluster.Start(ctx, b, 1, testcluster.ServerArgs("--no-such-setting", "1"))
		require.ErrorContains(t, err, "no-such-setting")
	})
}

func TestCloseLeavesNothing(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		c := start(t, b, 1, testcluster.Persistent())
		idle := dial(t, c.Nodes[0].Addr())
		require.Equal(t, "+PONG", idle.ask("PING"))
		require.NoError(t, c.Nodes[0].Stop(t.Context()))
		stuck := dial(t, c.Nodes[0].Addr())
		stuck.send("PING")

		require.NoError(t, c.Close())
		require.NoError(t, c.Close(), "a second close")
		idle.ended()
		stuck.ended()
		for _, n := range c.Nodes {
			refused(t, n.Addr())
			refused(t, n.Direct())
			require.Empty(t, leftovers(t, b, n.Direct()))
		}
	})
}

// leftovers lists the containers or processes that were started for the master at addr.
func leftovers(t *testing.T, b testcluster.Backend, addr string) string {
	t.Helper()
	port := addr[len("127.0.0.1:"):]
	var look *exec.Cmd
	switch b {
	case testcluster.Containers:
		look = exec.Command("docker", "ps", "--all", "--quiet", "--filter", "publish="+port)
	case testcluster.Processes:
		look = exec.Command("sh", "-c", `ps -ef | grep "[r]edis-server.*:$1"; true`, "sh", port)
	default:
		return ""
	}
	out, err := look.Output()
	require.NoError(t, err)
	return string(out)
}
