package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

const seedVariable = "REDLOCK_TEST_SEED"

// testSeed is that of the environment, to see something again, or a new one.
func testSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("%s=%d", seedVariable, seed)
	return seed
}

// I3. Locks expire and are taken over by others at any moment of what we do to them, by several handles of several Lockers.
// What the others have keeps its value and its end, on one node and on each of three.
func TestWhatOthersHaveIsLeftAloneInEveryInterleaving(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	steps := int64(100_000)
	switch {
	case testing.Short():
		steps = 5_000
	case raceDetector || tr.Backend == testcluster.Embedded:
		steps = 30_000 // each takes several times as long
	}
	seed := testSeed(t)
	urls := tr.urls(true)
	var done atomic.Int64
	var all deeds
	var g errgroup.Group
	for _, nodes := range [][]int{{3}, {0, 1, 2}} {
		var lockers [2]*redlock.Locker
		for i := range lockers {
			lockers[i] = tr.openAt(urls[nodes[0]:nodes[len(nodes)-1]+1], redlock.WithNodeTimeout(200*time.Millisecond),
				watch{script: repair, sent: &all[repairing]}.option())
		}
		for i := range 24 {
			m := &meddler{
				tr: tr, nodes: nodes, lockers: lockers, deeds: &all, name: fmt.Sprintf("%d-%d", len(nodes), i),
				random: rand.New(rand.NewPCG(seed, uint64(100*len(nodes)+i))),
			}
			g.Go(func() error { return m.run(t.Context(), steps, &done) })
		}
	}
	require.NoError(t, g.Wait())
	tr.clear()
	t.Logf("%d steps beside keys of others; succeeded: %v", done.Load(), &all)
	for i := range all {
		require.Positive(t, all[i].Load(), "none succeeded: %s", deedNames[i])
	}
}

// clear deletes everything, and what still comes: a detached lock may be on its way to a node.
func (tr *trial) clear() {
	tr.t.Helper()
	last := time.Now()
	require.True(tr.t, until(10*time.Second, func() bool {
		for _, look := range tr.looks {
			keys, err := look.Keys(tr.t.Context(), tr.prefix+"*").Result()
			require.NoError(tr.t, err)
			if len(keys) > 0 {
				last = time.Now()
				require.NoError(tr.t, look.Del(tr.t.Context(), keys...).Err())
			}
		}
		return time.Since(last) > 200*time.Millisecond // the node timeout, after which nothing leaves
	}))
}

// deed is something that we do.
type deed int

const (
	trying deed = iota
	extending
	unlocking
	leaving
	detaching
	resuming
	repairing
	deedKinds
)

var deedNames = [deedKinds]string{"lock", "extend", "unlock", "leave", "detach", "resume", "repair"}

// deeds counts those that succeeded.
type deeds [deedKinds]atomic.Int64

func (d *deeds) String() (s string) {
	for i := range d {
		s += fmt.Sprintf("%d %s, ", d[i].Load(), deedNames[i])
	}
	return s
}
