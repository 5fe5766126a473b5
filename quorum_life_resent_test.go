package quorum_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// counters returns the fences that the nodes have stored for a key.
func (tr *trial) counters(key string) []int64 {
	tr.t.Helper()
	all := make([]int64, len(tr.looks))
	for i, look := range tr.looks {
		n, err := look.Get(tr.t.Context(), tr.prefix+counterTag+key).Int64()
		require.NoError(tr.t, err)
		all[i] = n
	}
	return all
}

// F08. Two nodes stand still for longer than any timeout of a client that would send everything again. Each runs what it was
// sent once it wakes, and once only: the counter is raised by one step, and one Unlock frees all nodes.
func TestAnAcquisitionThatIsAnsweredTooLateRunsOnceAndOneUnlockFreesIt(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Stop)
	l := tr.over(tr.onDefaults(), redlock.WithTTL(time.Minute), redlock.WithFencing())
	first := tr.lockAll(l, "k") // from here on the nodes know the script and have a counter
	require.NoError(t, unlockAgain(t, first))
	tr.gone("k")
	before := tr.counters("k")

	stopped := []int{1, 3}
	asked := make(map[int]int)
	for _, i := range stopped {
		asked[i] = tr.Nodes[i].Proxy().Sent("EVALSHA")
	}
	tr.each(stopped, stop)
	lock, err := l.TryLock(t.Context(), "k")
	require.NoError(t, err)
	time.Sleep(2 * defaultTimeout) // the client has given the answers up
	tr.each(stopped, cont)
	tr.heldBy(5, "k")
	tr.quiet()
	for _, i := range stopped {
		require.Equal(t, asked[i]+1, tr.Nodes[i].Proxy().Sent("EVALSHA"))
	}
	after := tr.counters("k")
	for i := range after {
		require.Greater(t, after[i], before[i])
		require.LessOrEqual(t, after[i], lock.Fence(), "a second step would be behind the fence, or beyond it")
	}
	require.Greater(t, lock.Fence(), first.Fence())
	require.NoError(t, lock.Unlock(t.Context()))
	tr.gone("k")
	require.Equal(t, after, tr.counters("k"))
}

// quiet waits until nobody has sent a node anything for a while.
func (tr *trial) quiet() {
	tr.t.Helper()
	last, since := tr.sent(""), time.Now()
	require.True(tr.t, until(generous, func() bool {
		if n := tr.sent(""); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > defaultTimeout
	}))
}

// The giver's key is on every node, and the taker's command has not run on a far one when he gives the lock back: it was not
// sent yet, or the node did not know its script. That node must not keep the giver's key for it.
func TestALockThatWasTakenOverAndGivenBackAtOnceLeavesNoKeyOfTheGiver(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"the script is known": true, "the script is unknown": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t)
			l := tr.open(redlock.WithTTL(time.Minute))
			tr.warm(l)
			for _, look := range tr.looks {
				require.NoError(t, look.ScriptFlush(t.Context()).Err())
			}
			if known {
				lock, err := l.Resume(t.Context(), "first", tr.lockAll(l, "first").Detach())
				require.NoError(t, err)
				tr.quiet()
				require.NoError(t, lock.Unlock(t.Context()))
				tr.gone("first")
			}
			token := tr.lockAll(l, "k").Detach()
			const far = 200 * time.Millisecond
			tr.Nodes[4].Proxy().Delay(far/2, far/2)
			busy := tr.lock(l, "busy") // it is under way to the far node
			lock, err := l.Resume(t.Context(), "k", token)
			require.NoError(t, err)
			require.NoError(t, lock.Unlock(t.Context()))
			tr.gone("k")
			require.NoError(t, busy.Unlock(t.Context()))
			tr.gone("busy")
		})
	}
}
