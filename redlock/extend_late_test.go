package redlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two of three answers come in time, and the one that makes the majority does not. It is the first thing that anybody hears after the
// end, so nobody has said yet that the lock is lost.
func TestAnExtendWhoseMajorityIsCompleteAfterTheEndIsLost(t *testing.T) {
	t.Parallel()
	const life = 500 * time.Millisecond
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithTTL(life))
		lock := c.mustHold(t, "k")
		until := lock.Until()
		time.Sleep(life - 120*time.Millisecond)
		left := lock.Remaining()
		require.Greater(t, left, 100*time.Millisecond)
		require.Less(t, left, 150*time.Millisecond)
		c.staggered(50 * time.Millisecond)
		require.ErrorIs(t, lock.Extend(t.Context()), ErrLost)
		require.True(t, time.Now().After(until))
		require.Zero(t, lock.Remaining())
		time.Sleep(nodeTimeout)
		require.ErrorIs(t, lock.Err(), ErrLost, "nothing that comes later revives it")
	})
}
