package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ledger is the times in which one key was held, in their order. Each that is added must fit in between the others.
type ledger struct {
	mu    sync.Mutex // protects holds
	holds []hold     // disjoint, until one was found that was not
}

// ledgerLength is how many of the latest holds of a key are remembered at the least. A holder adds its own before it gives the lock
// back, so that nobody comes behind so many others of the same key but by standing still for all of them.
const ledgerLength = 1024

// add notes a hold that is over, and tells which other one it overlaps. Of disjoint ones in their order only the neighbours can.
func (l *ledger) add(h hold) (other hold, overlaps bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.holds) == 2*ledgerLength {
		l.holds = slices.Delete(l.holds, 0, ledgerLength)
	}
	i, _ := slices.BinarySearchFunc(l.holds, h.from, func(x hold, from time.Time) int { return x.from.Compare(from) })
	switch {
	case i > 0 && l.holds[i-1].to.After(h.from):
		other, overlaps = l.holds[i-1], true
	case i < len(l.holds) && l.holds[i].from.Before(h.to):
		other, overlaps = l.holds[i], true
	}
	l.holds = slices.Insert(l.holds, i, h)
	return other, overlaps
}

// judge hears from the holders of every key what they had and until when, and what their fences were.
type judge struct {
	*guards           // of the fenced keys, and where all is noted that must not be
	ledgers  []ledger // by key
	overlaps atomic.Int64
	lost     atomic.Int64 // locks that were said to be lost inside their validity, as they were given back
	others   atomic.Int64 // locks that were had though somebody else had them
}

func judgeOf(t *testing.T, keys int) *judge {
	t.Helper()
	return &judge{
		guards:  &guards{t: t, keys: make([]guarded, keys), wanted: -1, reached: make(chan struct{})},
		ledgers: make([]ledger, keys),
	}
}

// held notes a hold that is over. One that was over before it had begun was none.
func (j *judge) held(key int, h hold) {
	if !h.from.Before(h.to) {
		return
	}
	if other, overlaps := j.ledgers[key].add(h); overlaps {
		j.overlaps.Add(1)
		j.violated(fmt.Sprintf("key %d: held from %v to %v, and from %v to %v", key, h.from, h.to, other.from, other.to))
	}
}

// clean tells that nothing was found so far.
func (j *judge) clean() bool { return len(j.found()) == 0 }

// fences is how many violations are of fences: one that fell, or a stale write that was admitted.
func (j *judge) fences() int64 {
	return int64(len(j.found())) - j.overlaps.Load() - j.lost.Load() - j.others.Load()
}

// mustRefuse holds that no stale write was admitted. It is for where two may hold a key at once: of those the earlier may well be the
// later to show his fence, which is no fault of theirs.
func (j *judge) mustRefuse() {
	j.t.Helper()
	for _, violation := range j.found() {
		require.NotContains(j.t, violation, "was admitted after")
	}
}

func (j *judge) String() string {
	return fmt.Sprintf("%d acquisitions, %d besides that were late; %d overlaps, %d lost inside their validity, %d of somebody else's had, "+
		"%d fence violations in %d stale writes", j.acquisitions.Load(), j.late.Load(), j.overlaps.Load(), j.lost.Load(), j.others.Load(),
		j.fences(), j.stale.Load())
}

// The ledger finds an overlap exactly where one pair of all overlaps.
func TestNemesisLedgerFindsEveryOverlap(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	begin := time.Now()
	found := 0
	for range 5000 {
		var l ledger
		var all []hold
		expected, said := false, false
		for range 2 + random.IntN(5) {
			from := begin.Add(time.Duration(random.IntN(40)))
			h := hold{from, from.Add(time.Duration(1 + random.IntN(6)))}
			for _, other := range all {
				expected = expected || h.from.Before(other.to) && other.from.Before(h.to)
			}
			all = append(all, h)
			_, overlaps := l.add(h)
			said = said || overlaps
		}
		require.Equal(t, expected, said, "%v", all)
		if said {
			found++
		}
	}
	require.NotZero(t, found)
	require.Less(t, found, 5000)

	var long ledger
	for i := range 10 * ledgerLength {
		from := begin.Add(time.Duration(2 * i))
		_, overlaps := long.add(hold{from, from.Add(2)})
		require.False(t, overlaps)
	}
	_, overlaps := long.add(hold{begin.Add(19 * ledgerLength), begin.Add(19*ledgerLength + 1)})
	require.True(t, overlaps, "what is remembered is what came last")
}
