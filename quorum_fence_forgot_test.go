package quorum_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// No node that is left knows the last fence: two were away when it was given, two forgot it since, and the last is away now.
// The clocks know.
func TestFencesRiseThoughNobodyKnowsTheLastOne(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.KillEmpty)
	l := tr.open(redlock.WithFencing(), redlock.WithTTL(fenceTTL), redlock.WithNodeTimeout(fenceTimeout))
	first := tr.fenceOf(l)
	second := tr.fenceOf(l, 0, 1)
	require.Greater(t, second, first)
	tr.each([]int{2, 3}, kill)
	time.Sleep(awayLeast)
	tr.each([]int{2, 3}, startEmpty)
	third := tr.fenceOf(l, 4)
	require.Greater(t, third, second)
	require.Greater(t, tr.fenceOf(l), third)
}

// fenceOf takes a lock and gives it back, and returns its fence, while some nodes are away.
func (tr *trial) fenceOf(l *redlock.Locker, away ...int) int64 {
	tr.t.Helper()
	for _, i := range away {
		tr.Nodes[i].Proxy().Refuse(true)
		tr.Nodes[i].Proxy().Reset()
	}
	var lock *redlock.Lock
	require.True(tr.t, until(20*time.Second, func() bool { // nodes that were dead are reached only after a while
		var err error
		lock, err = l.TryLock(tr.t.Context(), "k")
		if err != nil && !errors.Is(err, redlock.ErrNotAcquired) {
			require.NoError(tr.t, err)
		}
		return err == nil
	}))
	require.NoError(tr.t, unlockAgain(tr.t, lock))
	for _, i := range away {
		tr.Nodes[i].Proxy().Refuse(false)
	}
	return lock.Fence()
}
