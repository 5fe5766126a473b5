package redlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInspectTellsWhoHasTheKeyAndForHowLong(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithPrefix("app:"))
		lock := c.mustHold(t, "k", WithLabel("worker 7 of 9"), WithFencing())
		time.Sleep(time.Second)
		c.masters[1].restartEmpty()
		c.masters[2].timeout = time.Minute // so that the Inspect's own time is up first
		c.masters[2].stop()
		c.masters[3].set(way{down: errRefused})
		before := c.sent("")
		seen, err := c.another(t, WithPrefix("app:")).Inspect(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, before+4, c.sent(""))
		require.Equal(t, "k", seen.Key)
		require.Equal(t, 3, seen.Quorum)
		require.Len(t, seen.Nodes, 5)
		digest := seen.Nodes[0].Holder
		require.Len(t, digest, 8)
		require.NotContains(t, lock.round().secrets()[0], digest)
		for i, n := range seen.Nodes {
			require.Equal(t, i, n.Index)
			require.Equal(t, c.core.names[i], n.Name)
		}
		require.Equal(t, NodeState{
			Name: c.core.names[0], Holder: digest, Label: "worker 7 of 9", TTL: ttl - time.Second, Fence: lock.Fence(),
		}, seen.Nodes[0])
		require.Equal(t, NodeState{Index: 1, Name: c.core.names[1]}, seen.Nodes[1], "free")
		require.ErrorIs(t, seen.Nodes[2].Err, errNodeTimeout)
		require.ErrorIs(t, seen.Nodes[3].Err, errRefused)
		for _, n := range seen.Nodes[2:4] {
			_, ok := errors.AsType[*NodeError](n.Err)
			require.True(t, ok)
		}
		holder, label := seen.Holder()
		require.Empty(t, holder+label, "two of five are no quorum")
		c.masters[2].resume()
		c.masters[3].set(way{})
		time.Sleep(recovery)
		seen, err = c.Inspect(t.Context(), "k")
		require.NoError(t, err)
		holder, label = seen.Holder()
		require.Equal(t, []string{digest, "worker 7 of 9"}, []string{holder, label})
	})
}

func TestInspectChangesNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 3, WithFencing())
		lock := c.mustHold(t, "k")
		c.masters[1].put("set", "k", foreign) // without an end
		c.masters[2].put("del", "k")
		c.masters[2].put("rpush", "k", "v")
		snapshot := func() (all []map[string]string) {
			for _, m := range c.masters {
				all = append(all, m.values())
			}
			return all
		}
		before, ends := snapshot(), c.masters[0].expiry("k")
		for range 3 {
			seen, err := c.Inspect(t.Context(), "k")
			require.NoError(t, err)
			require.Negative(t, seen.Nodes[1].TTL)
			require.NotEqual(t, seen.Nodes[0].Holder, seen.Nodes[1].Holder)
			require.ErrorContains(t, seen.Nodes[2].Err, "WRONGTYPE")
		}
		require.Equal(t, before, snapshot())
		require.Equal(t, ends, c.masters[0].expiry("k"))
		require.NoError(t, lock.Err())
	})
}

func TestInspectShowsWhatIsOwed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 3)
		lock := c.mustHold(t, "k")
		c.masters[1].stop()
		require.NoError(t, lock.Unlock(t.Context()))
		time.Sleep(nodeTimeout)
		seen, err := c.Inspect(t.Context(), "k")
		require.NoError(t, err)
		owed := []int{}
		for _, n := range seen.Nodes {
			owed = append(owed, n.Owed)
		}
		require.Equal(t, []int{0, 1, 0}, owed)
		c.masters[1].resume()
		time.Sleep(recovery)
	})
}

func TestInspectEndsWithItsContextTheNodeTimeoutOrTheLocker(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 3)
		for _, m := range c.masters {
			m.timeout = time.Minute
			m.stop()
		}
		inspect := func(ctx context.Context) error { _, err := c.Inspect(ctx, "k"); return err }
		require.Equal(t, 50*time.Millisecond, took(func() {
			require.ErrorIs(t, inspect(after(t, 50*time.Millisecond)), context.DeadlineExceeded)
		}))
		require.Equal(t, nodeTimeout, took(func() { require.NoError(t, inspect(t.Context())) }))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		before := c.sent("")
		require.ErrorIs(t, inspect(ended), context.Canceled)
		require.ErrorIs(t, inspect(nil), ErrInvalid)
		_, err := c.Inspect(t.Context(), "")
		require.ErrorIs(t, err, ErrInvalid)
		_, err = (*Locker)(nil).Inspect(t.Context(), "k")
		require.ErrorIs(t, err, ErrInvalid)
		require.Equal(t, before, c.sent(""))
		waits := make(chan error, 1)
		go func() { waits <- inspect(t.Context()) }()
		synctest.Wait()
		require.Error(t, c.Close(ended), "nodes hang")
		require.ErrorIs(t, <-waits, ErrClosed)
		require.ErrorIs(t, inspect(t.Context()), ErrClosed)
		for _, m := range c.masters {
			m.resume()
		}
	})
}
