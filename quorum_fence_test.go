package quorum_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

const year = 365 * 24 * time.Hour

// mastersApart are by how much the masters' wall clocks are ahead: up to a second, and one more than a year.
var mastersApart = []time.Duration{0, 500 * time.Millisecond, -500 * time.Millisecond, 300 * time.Millisecond, year}

// processesApart are the same of the processes that take locks: up to ten seconds, and one a year.
var processesApart = []time.Duration{
	0, 100 * time.Millisecond, -200 * time.Millisecond, 3 * time.Second, -3 * time.Second, 5 * time.Second, -5 * time.Second, year,
}

// fencedLocks is how many are taken, and how many stale writes are tried at the least: fewer where each costs many times as
// much. Between us and containers every packet passes one process more.
func fencedLocks(b testcluster.Backend) (acquisitions, stale int64) {
	if raceDetector || b == testcluster.Containers {
		return 20_000, 1_000
	}
	return 200_000, 10_000
}

// I8: while nodes stop, and come back with their data, with data two seconds old, and with none, fences rise, whatever the
// clocks of nodes and clients say, also where one of each are wrong by the same year. Not parallel, since it needs the machine.
func TestFencesRiseWhateverTheClocksSayAndTheNodesForget(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	tr := beginAlone(t, []testcluster.Fault{testcluster.Stop, testcluster.KillKeep, testcluster.KillEmpty},
		testcluster.Persistent(), testcluster.WallClocks(mastersApart...))
	tr.clocksAreApart()
	acquisitions, stale := fencedLocks(tr.Backend)
	g := guardsOf(t, hotKeys+coldKeys, acquisitions, false)
	fencers := tr.fencers(g)
	n := &nemesis{tr: tr}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var haunted errgroup.Group
	seed := testSeed(t)
	for hand, nodes := range [][]int{{0, 1, 4}, {2, 3}} { // two at once at the most, and each of them sometimes
		haunted.Go(func() error { return n.haunt(ctx, nodes, rand.New(rand.NewPCG(seed, uint64(hand)))) })
	}
	start := time.Now()
	g.await(10 * time.Minute)
	took := time.Since(start)
	cancel()
	require.NoError(t, haunted.Wait())
	for _, c := range fencers {
		t.Log(c.hear())
		require.NoError(t, c.end())
	}
	t.Logf("%d acquisitions in %v, %d that were late, %d stale writes; %v", g.acquisitions.Load(), took, g.late.Load(), g.stale.Load(), n)
	require.Empty(t, g.found())
	require.GreaterOrEqual(t, g.acquisitions.Load(), acquisitions)
	require.GreaterOrEqual(t, g.stale.Load(), stale, "stale writes tried")
}

// Without the write-back the same clocks show what it is for.
func TestFencesThatAreNotWrittenBackFall(t *testing.T) {
	t.Parallel()
	const acquisitions = 20_000
	tr := beginAlone(t, nil, testcluster.WallClocks(mastersApart...))
	tr.teachNoScript()
	g := guardsOf(t, hotKeys+coldKeys, acquisitions, true)
	fencers := tr.fencers(g, swallowVariable+"=yes")
	g.await(5 * time.Minute)
	for _, c := range fencers {
		c.hear()
		require.NoError(t, c.end())
	}
	require.NotEmpty(t, g.found(), "within %d acquisitions", g.acquisitions.Load())
	t.Log(g.found()[0])
}

// fencers are processes that take fenced locks, each with its own wall clock, and present the fences to the guards.
func (tr *trial) fencers(g *guards, env ...string) (children []*child) {
	tr.t.Helper()
	var masters []string
	for _, n := range tr.Nodes {
		masters = append(masters, n.Direct())
	}
	env = append(env, guardVariable+"="+g.listen.Addr().String(),
		proxiesVariable+"="+strings.Join(tr.Addrs(), ","), mastersVariable+"="+strings.Join(masters, ","))
	for _, ahead := range processesApart {
		children = append(children, tr.child("fencer", append([]string{fmt.Sprint(wallVariable, "=", ahead)}, env...)...))
	}
	return children
}

// clocksAreApart holds that the masters' clocks are as far ahead as they should be.
func (tr *trial) clocksAreApart() {
	tr.t.Helper()
	for i, look := range tr.looks {
		before := time.Now()
		there, err := look.Time(tr.t.Context()).Result()
		require.NoError(tr.t, err)
		require.False(tr.t, there.Before(before.Add(mastersApart[i]-time.Millisecond)), "node %d: %v", i, there)
		require.False(tr.t, there.After(time.Now().Add(mastersApart[i]+time.Millisecond)), "node %d: %v", i, there)
	}
}
