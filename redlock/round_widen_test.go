package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What still waits in a busy lane when the round is won leaves all the same: each grant that comes of it lets one more node forget.
func TestAWonRoundAsksTheNodesThatAreBusyToo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		c.each(way{back: 50 * time.Millisecond}, 3, 4)
		go func() {
			_, err := c.Inspect(t.Context(), "other")
			check(t, err, nil)
		}()
		synctest.Wait()
		lock := c.mustTryLock(t, "k")
		require.Empty(t, c.masters[3].requests("set"), "it is queued")
		require.Equal(t, []int{0, 1, 2}, c.carriers(lock))
		time.Sleep(nodeTimeout)
		require.Equal(t, []int{0, 1, 2, 3, 4}, c.carriers(lock), "a won round withdraws nothing")
		c.masters[0].restartEmpty()
		c.masters[1].restartEmpty()
		require.NoError(t, lock.Extend(t.Context()), "all five granted in time")
		require.NoError(t, lock.Unlock(t.Context()))
		c.settle(t)
		require.Empty(t, c.ours())
	})
}
