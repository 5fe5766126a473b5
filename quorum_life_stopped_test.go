//go:build unix

package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// The 20 rounds are played by four clusters side by side.
const (
	stoppedClusters = 4
	stoppedRounds   = 5
)

// F19, I2. A process stands still for longer than its TTL, renewals of its own under way. Meanwhile somebody else has the
// lock, gives it back, and has it again. When the process wakes everything tells it at once that the lock is lost, and what
// it still sends does the new owner no harm.
func TestAProcessThatWasStoppedPastItsTTLHearsFirstThatItsLockIsLost(t *testing.T) {
	t.Parallel()
	for part := range stoppedClusters {
		t.Run(fmt.Sprintf("rounds %d to %d", part*stoppedRounds+1, (part+1)*stoppedRounds), func(t *testing.T) {
			t.Parallel()
			tr := begin(t)
			c := tr.child("renewer")
			other := tr.openAt(tr.urls(true), redlock.WithBackoff(10*time.Millisecond, 20*time.Millisecond))
			random := rand.New(rand.NewPCG(uint64(part), 19))
			for _, n := range tr.Nodes {
				n.Proxy().Delay(0, 5*time.Millisecond) // so that it stops in the middle of an Extend
			}
			for round := range stoppedRounds {
				tr.overtake(c, other, fmt.Sprint("k", round), random)
			}
		})
	}
}

func (tr *trial) overtake(c *child, other *redlock.Locker, key string, random *rand.Rand) {
	tr.t.Helper()
	c.tell(key)
	require.Equal(tr.t, "held", c.hear())
	time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond)))) // at any moment of it
	process := c.cmd.Process
	require.NoError(tr.t, process.Signal(syscall.SIGSTOP))
	require.NoError(tr.t, testcluster.AwaitStill(tr.t.Context(), process.Pid))

	long := redlock.WithTTL(time.Minute)
	lock, err := other.Lock(endsIn(tr.t, time.Minute), key, long)
	require.NoError(tr.t, err)
	require.NoError(tr.t, lock.Unlock(tr.t.Context()))
	tr.gone(key) // what the process had sent before it stood still may have come later to one node
	lock = tr.lockAll(other, key, long)
	before := tr.values(key)

	require.NoError(tr.t, process.Signal(syscall.SIGCONT))
	require.Equal(tr.t, allLost, c.hear())
	require.Equal(tr.t, before, tr.values(key))
	for _, look := range tr.looks {
		require.Greater(tr.t, look.PTTL(tr.t.Context(), tr.prefix+key).Val(), renewerTTL)
	}
	require.NoError(tr.t, lock.Extend(tr.t.Context()))
	require.NoError(tr.t, lock.Unlock(tr.t.Context()))
	tr.gone(key)
}
