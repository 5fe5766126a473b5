package quorum_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// nemesisVariable tells how much the nemesis does: "full" is what docs/verification.md states, nothing is a short form.
const nemesisVariable = "REDLOCK_NEMESIS"

// nemesisSize is how many locks are taken with nothing wrong, how many beside the harms, and how long either may take at the most.
type nemesisSize struct {
	healthy, beside int64
	harms           harms
	limit           time.Duration
	least           float64       // how many locks are to be had in a second, over any five
	late            time.Duration // the load is held to that where no bare timer is later than this
	whole           bool          // no kind of harm may be left out where it cannot be done
}

var nemesisSizes = map[string]nemesisSize{
	"": {
		healthy: 10_000, beside: 5_000, limit: 3 * time.Minute, least: 50, late: starved, // it must not stand still
		harms: harms{
			kills: 4, stops: 4, empties: 2, partitions: 2, holes: 1, pauses: 2, flushes: 2, ahead: 1, behind: 1, lostReplies: 300,
		},
	},
	"full": {
		healthy: 1_000_000, beside: 200_000, limit: 20 * time.Minute, least: 500, late: never, whole: true,
		harms: harms{
			kills: 200, stops: 200, empties: 50, partitions: 50, holes: 10, pauses: 50, flushes: 50, ahead: 30, behind: 20, lostReplies: 10_000,
		},
	},
}

func sizeOfNemesis(t *testing.T) nemesisSize {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	size, ok := nemesisSizes[os.Getenv(nemesisVariable)]
	require.True(t, ok, "%s=%q: it is full, or not set", nemesisVariable, os.Getenv(nemesisVariable))
	return size
}

// shortLogs lets a node that is killed be back soon: what it has to read then is no more than some seconds of the load wrote.
var shortLogs = testcluster.ServerArgs("--auto-aof-rewrite-min-size", "4mb")

// With nothing wrong many callers take many locks. Not parallel, since it needs the machine.
func TestNemesisAtRestFindsNothing(t *testing.T) {
	size := sizeOfNemesis(t)
	tr := begin(t)
	lockers := make([]*redlock.Locker, 3)
	for i := range lockers {
		lockers[i] = tr.openAt(tr.urls(true), loadTerms...)
		tr.warm(lockers[i])
	}
	tf := tr.traffic(64, lockers...)
	tf.run(size.limit, func() bool {
		return !tf.judge.clean() || tf.since() >= size.healthy && time.Since(tf.begun) > 6*time.Second
	})
	t.Logf("nothing wrong, %v: %v", time.Since(tf.begun).Round(time.Second), tf)
	tf.verdict(size)
}

// I1 to I4, I8. Nodes are killed, and come back with what they knew or, one at a time, with nothing; they stand still, are cut off
// without a word, pause, forget their scripts, their clocks step and go fast, and replies are lost, while a load of locks goes on that
// is never slow. Not parallel, since it needs the machine.
func TestNemesisFindsNothingWhileTheAssumptionsHold(t *testing.T) {
	size := sizeOfNemesis(t)
	tr := beginAlone(t, []testcluster.Fault{testcluster.Config, testcluster.KillKeep, testcluster.KillEmpty, testcluster.Stop},
		testcluster.Persistent(), testcluster.MovableClocks(), shortLogs)
	for _, f := range []testcluster.Fault{testcluster.Clock, testcluster.Partition} {
		require.True(t, tr.Nodes[0].Can(f) || !size.whole, "%s cannot make the fault %q here, and all of them are asked for", tr.Backend, f)
	}
	lockers := []*redlock.Locker{
		tr.over(tr.onDefaults(), loadTerms...), tr.open(loadTerms...), tr.openAround(loadTerms...), tr.openAround(loadTerms...),
	}
	for _, l := range lockers {
		tr.warm(l)
	}
	tf := tr.traffic(32, lockers...)
	others := tr.bystanders()
	tf.theirs = others.theirs
	s := tr.besiege(size.harms, others, tf.seed)
	tf.run(size.limit, func() bool {
		return !tf.judge.clean() || tf.since() >= size.beside && len(s.missing()) == 0
	}, s.lay)
	took := time.Since(tf.begun).Round(time.Second)
	kept := others.checked()
	t.Logf("harms within the assumptions, %v: %v", took, s)
	t.Logf("beside them: %v", tf)
	t.Logf("keys of somebody else: %d, as they were", kept)
	tf.verdict(size)
	require.LessOrEqual(t, s.most, 2, "a majority was up")
	require.Empty(t, s.missing())
}
