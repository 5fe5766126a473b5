//go:build unix

package quorum_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// The client stands still for twice the node timeout with a pipeline in flight to each of the five nodes, which makes all of
// them late at once. The call after that must not pay for it. Not parallel: it leaves one node timeout for what takes a few
// milliseconds on a machine that does nothing else, and it is this process alone that stood still.
func TestTheCallAfterAStallOfTheClientSucceeds(t *testing.T) {
	tr := begin(t)
	c := tr.child("asked")
	late := 0
	for round := 0; round < 20+late; round++ {
		w := watchTimers()
		tr.askInFlight(c, fmt.Sprint("stalled", round))
		process := c.cmd.Process
		require.NoError(t, process.Signal(syscall.SIGSTOP))
		require.NoError(t, testcluster.AwaitStill(t.Context(), process.Pid))
		time.Sleep(2 * askedTimeout)
		for _, n := range tr.Nodes {
			n.Proxy().Delay(0, 0)
		}
		require.NoError(t, process.Signal(syscall.SIGCONT))
		c.hear() // whatever came of the call that stood still
		c.tell(fmt.Sprint("next", round))
		said := c.hear()
		if w.close() > slack/2 && late < 20 { // the other process had no more luck than this one
			late++
			continue
		}
		require.Equal(t, "<nil>", said, "round %d", round)
	}
	require.True(t, until(time.Second, func() bool { return len(tr.keys()) == 0 }), "what the other process owes is paid")
}

// askInFlight lets the other process try a lock and returns while the replies of all five nodes are under way. A call that
// does not reach all of them, since one is still being paid what it is owed, is tried again.
func (tr *trial) askInFlight(c *child, key string) {
	tr.t.Helper()
	const delay = askedTimeout / 2
	for _, n := range tr.Nodes {
		n.Proxy().Delay(0, delay)
	}
	sent := func() []int {
		counts := make([]int, len(tr.Nodes))
		for i, n := range tr.Nodes {
			counts[i] = n.Proxy().Sent("SET")
		}
		return counts
	}
	for try := 0; ; try++ {
		before := sent()
		c.tell(fmt.Sprint(key, "-", try))
		if until(delay*3/4, func() bool {
			return !slices.ContainsFunc(tr.Nodes, func(n *testcluster.Node) bool {
				return n.Proxy().Sent("SET") == before[slices.Index(tr.Nodes, n)]
			})
		}) {
			return
		}
		c.hear()
		require.Less(tr.t, try, 200, "no call reaches all nodes")
	}
}
