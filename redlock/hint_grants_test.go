package redlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A hint says that it may be worth asking, and nothing more: whoever gives it, the votes decide.
func TestAHintGrantsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 2, unpolled()...)
		key, turns := c.keyAt(0), make(chan turn, 1)
		lock := c.mustTryLock(t, key)
		c.queueUp(t.Context(), 1, key, turns)
		for i := range 5 {
			before := c.sent("set")
			c.masters[0].put("publish", channelTag+c.ids(1)[0], queueTag+key)
			time.Sleep(10 * trip)
			require.Greater(t, c.sent("set"), before, "hint %d is followed", i)
			require.Empty(t, turns, "hint %d is taken for a grant", i)
		}
		require.NoError(t, lock.Extend(t.Context()))
		require.NoError(t, lock.Unlock(t.Context()))
		c.mustHave(turns)
		c.requireGone()
	})
}
