package redlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The whole life over the client itself, whose replies come in the client's own types.
func TestALockLivesItsWholeLifeOverTheWire(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		l, wires := wired(t, 5, WithFencing(), WithLabel("worker 7"))
		wires[0].put("set", counterTag+"k", int64(5e15)) // so that it is written back
		lock, err := l.TryLock(t.Context(), "k", WithKeys("x"))
		require.NoError(t, err)
		time.Sleep(time.Second)
		fence := lock.Fence()
		require.Positive(t, fence)
		wires[4].forget()
		require.NoError(t, lock.Extend(t.Context()))
		time.Sleep(time.Second)
		for _, w := range wires {
			require.Equal(t, lock.round().bid.Token, w.values()["x"], "also where it was repaired")
		}

		seen, err := l.Inspect(t.Context(), "x")
		require.NoError(t, err)
		digest, label := seen.Holder()
		require.Len(t, digest, 8)
		require.Equal(t, "worker 7", label)
		free, err := l.Inspect(t.Context(), "free")
		require.NoError(t, err)
		for _, n := range free.Nodes {
			require.Equal(t, NodeState{Index: n.Index, Name: n.Name}, n)
		}

		again, err := l.Resume(t.Context(), "k", lock.Detach(), WithKeys("x"))
		require.NoError(t, err)
		require.Greater(t, again.Fence(), fence)
		ended := keeping(t.Context(), again)
		time.Sleep(5 * ttl)
		require.NoError(t, again.Err())
		require.NoError(t, again.Leave(t.Context(), time.Second))
		require.NoError(t, <-ended)
		time.Sleep(time.Second)
		require.NoError(t, l.Do(t.Context(), "k", func(context.Context, *Lock) error { return nil }))
		synctest.Wait()
	})
}

// A minority of nodes may answer anything to any question of a held lock; a majority costs no more than the answer.
func TestNoReplyOfAnyShapeIsTakenForTheAnswerToAQuestion(t *testing.T) {
	t.Parallel()
	for name, raw := range malformed {
		for _, n := range []int{2, 3} {
			bubble(t, func(t *testing.T) {
				l, wires := wired(t, 5)
				lock, err := l.TryLock(t.Context(), "k")
				require.NoError(t, err)
				left, err := l.TryLock(t.Context(), "left")
				require.NoError(t, err)
				time.Sleep(time.Second)
				for _, w := range wires[:n] {
					w.setBend(bendTo("", raw))
				}
				extended := lock.Extend(t.Context())
				require.NotErrorIs(t, extended, ErrLost, name)
				seen, err := l.Inspect(t.Context(), "k")
				require.NoError(t, err, name)
				require.Error(t, seen.Nodes[0].Err, name)
				wasLeft := left.Leave(t.Context(), time.Minute)
				if n == 2 {
					require.NoError(t, extended, name)
					require.NoError(t, wasLeft, name)
				} else {
					require.ErrorIs(t, extended, ErrNoQuorum, name)
				}
				require.NoError(t, lock.Err(), name)
				for _, w := range wires {
					w.setBend(nil)
				}
				time.Sleep(recovery)
				require.NoError(t, lock.Extend(t.Context()), name)
				require.NoError(t, lock.Unlock(t.Context()), name)
				time.Sleep(time.Minute)
			})
		}
	}
}
