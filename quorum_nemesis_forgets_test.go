package quorum_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/fence"
	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// A1 is an assumption, and this is what is lost without it: of a bare majority, which carries a lock, one node comes back at once and
// with nothing. So a second holder has it beside the first, who cannot know; his fence is what tells them apart. It is no fault that
// this finds two holders. It would be one if it did not, for then the nemesis would not see any.
func TestNemesisFindsTwoHoldersWhereANodeOfABareMajorityForgetsAtOnce(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.KillEmpty)
	first, second := tr.rivals()
	for round := range 3 {
		key := fmt.Sprint("k", round)
		away := []int{round, (round + 1) % 5} // while the lock is taken, and not after it
		forgets := (round + 3) % 5
		for _, i := range away {
			tr.Nodes[i].Proxy().Refuse(true)
			tr.Nodes[i].Proxy().Reset()
		}
		a := tr.heldNow(first, key)
		require.True(t, until(generous, func() bool { return len(tr.holders(key)) == 3 }))
		carriers := tr.holders(key)
		require.Contains(t, carriers, forgets)
		for _, i := range away {
			tr.Nodes[i].Proxy().Refuse(false)
			require.NotContains(t, carriers, i)
		}
		tr.each([]int{forgets}, kill)
		tr.each([]int{forgets}, startEmpty)
		tr.overlap(a, tr.heldNow(second, key), key)
	}
}

// rivals are two Lockers whose locks are fenced, and outlive the test.
func (tr *trial) rivals() (first, second *redlock.Locker) {
	tr.t.Helper()
	terms := []redlock.Option{redlock.WithTTL(time.Minute), redlock.WithFencing()}
	first, second = tr.open(terms...), tr.open(terms...)
	tr.warm(first)
	tr.warm(second)
	return first, second
}

// holding is a lock with the time in which it can be trusted, as it was when it was had.
type holding struct {
	*redlock.Lock
	hold
}

// heldNow takes a key that is free on a majority. A node that was dead is reached only after a while.
func (tr *trial) heldNow(l *redlock.Locker, key string) holding {
	tr.t.Helper()
	var lock *redlock.Lock
	var from time.Time
	require.True(tr.t, until(20*time.Second, func() bool {
		var err error
		lock, err = l.TryLock(tr.t.Context(), key)
		from = time.Now()
		return err == nil
	}), "%s is not had", key)
	return holding{lock, hold{from, from.Add(lock.Remaining())}}
}

// overlap holds that two hold a key at once, that the judge of the nemesis says so, that the resource refuses the first one once the
// second has come, and that the first is told when it asks. Both are given back.
func (tr *trial) overlap(a, b holding, key string) {
	tr.t.Helper()
	require.Positive(tr.t, a.Remaining(), "it trusts its lock")
	require.Positive(tr.t, b.Remaining())
	var l ledger
	_, overlaps := l.add(a.hold)
	require.False(tr.t, overlaps)
	other, overlaps := l.add(b.hold)
	require.True(tr.t, overlaps)
	require.Equal(tr.t, a.hold, other)

	var resource fence.Memory
	ctx := tr.t.Context()
	require.NoError(tr.t, resource.Admit(ctx, a.Fence()))
	require.NoError(tr.t, resource.Admit(ctx, b.Fence()))
	require.ErrorIs(tr.t, resource.Admit(ctx, a.Fence()), fence.ErrStale)
	require.NoError(tr.t, resource.Admit(ctx, b.Fence()))
	tr.t.Logf("%s: two holders for %v at the least; of fences %d and %d the first is refused", key,
		min(a.to.Sub(b.from), b.to.Sub(b.from)).Round(time.Second), a.Fence(), b.Fence())

	require.ErrorIs(tr.t, a.Extend(ctx), redlock.ErrLost)
	require.ErrorIs(tr.t, a.Err(), redlock.ErrLost)
	require.NoError(tr.t, b.Extend(ctx))
	require.ErrorIs(tr.t, a.Unlock(ctx), redlock.ErrLost)
	require.NoError(tr.t, unlockAgain(tr.t, b.Lock))
	tr.gone(key)
}
