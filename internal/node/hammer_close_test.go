package node

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAfterAnyTroubleCloseLeavesNoKeyBehindAndEverybodyWasHeardOnce(t *testing.T) {
	t.Parallel()
	for range 5 {
		newHammer(t, rand.Uint64(), func(t *testing.T, h *hammer) {
			h.run()
			for _, n := range h.nodes {
				n.heal()
			}
			time.Sleep(maxPause) // no node is left alone for longer, and then one TTL is enough
			require.NoError(t, h.Close(t.Context()))
			for i, n := range h.nodes {
				require.Empty(t, n.left(), "node %d", i)
				require.Zero(t, h.Debts()[i])
			}
			require.Positive(t, h.requireHeard(t))
			synctest.Wait()
			for _, n := range h.lanes {
				require.False(t, n.running)
				require.Zero(t, n.queue.len)
			}
			require.Zero(t, h.suspects.Load(), "every node answered last")
			time.Sleep(time.Hour)
			for i, n := range h.nodes {
				require.Empty(t, n.left(), "node %d", i)
			}
		})
	}
}

func TestACloseInTheMiddleOfTroubleLosesNobody(t *testing.T) {
	t.Parallel()
	for range 3 {
		newHammer(t, rand.Uint64(), func(t *testing.T, h *hammer) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				time.Sleep(50 * ms)
				_ = h.Close(ctx) // it may find the Group at rest, or stop waiting
			}()
			h.run()
			<-done
			time.Sleep(time.Hour)
			synctest.Wait()
			h.requireHeard(t)
			for i, n := range h.lanes {
				require.False(t, n.running)
				require.Nil(t, n.alarm)
				require.Zero(t, h.Debts()[i])
			}
		})
	}
}
