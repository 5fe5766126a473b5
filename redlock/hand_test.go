package redlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The canary's word on whether the key was still ours counts as any other node's, though its release does more.
func TestTheCanaryTellsThatTheLockWasLostLikeAnyNode(t *testing.T) {
	t.Parallel()
	for canary := range 5 {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			key := c.keyAt(canary)
			lock := c.mustHold(t, key)
			for _, i := range []int{0, 1, 2} {
				c.masters[i].put("del", key)
			}
			require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost, "canary %d", canary)
			time.Sleep(time.Second)
			require.Empty(t, c.ours())
		})
	}
}
