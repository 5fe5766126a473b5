package redlock

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The fence is stored on a bare three; while the lock is held the other two get it by an Extend.
func TestFencesRiseThoughTwoOfFiveForget(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithFencing())
		high := time.Now().Add(time.Hour).UnixMicro() // given out while the clocks of three were an hour ahead
		for _, m := range c.masters[:3] {
			m.put("set", "~f:k", fmt.Sprint(high), "px", int64(time.Hour/time.Millisecond))
		}
		c.each(way{back: 10 * time.Millisecond}, 3, 4)
		a := c.mustTryLock(t, "k")
		time.Sleep(nodeTimeout)
		require.Len(t, c.carriers(a), 5)
		for range 5 {
			time.Sleep(3 * time.Second)
			require.NoError(t, a.Extend(t.Context()))
		}
		c.masters[0].restartEmpty()
		c.masters[1].restartEmpty()
		c.each(way{down: errRefused}, 0, 1) // and stay away for longer than a TTL
		for range 5 {
			time.Sleep(3 * time.Second)
			require.NoError(t, a.Extend(t.Context()))
		}
		require.NoError(t, a.Unlock(t.Context()))
		time.Sleep(time.Second)
		c.each(way{}, 0, 1, 3)
		c.each(way{down: errRefused}, 2, 4)
		time.Sleep(time.Second)
		b, err := c.another(t, WithFencing()).TryLock(t.Context(), "k")
		require.NoError(t, err)
		require.Greater(t, b.Fence(), a.Fence())
	})
}
