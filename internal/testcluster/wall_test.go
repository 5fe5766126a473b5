package testcluster_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

func TestWallClocksOfMastersAreAheadAndTheirKeysLiveAsLong(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		ahead := []time.Duration{365 * 24 * time.Hour, -time.Minute, 0}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := testcluster.Start(ctx, b, len(ahead), testcluster.WallClocks(ahead...), testcluster.Persistent())
		if b == testcluster.Embedded {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			return
		}
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		for i, n := range c.Nodes {
			isAhead(t, n, ahead[i])
			require.NoError(t, n.Kill(t.Context()))
			require.NoError(t, n.Start(t.Context(), false))
			require.NotEqual(t, "$-1", dial(t, n.Direct()).ask("GET", "long"), "node %d: the key outlives a restart", i)
			require.NoError(t, n.Kill(t.Context()))
			require.NoError(t, n.Start(t.Context(), true))
			isAhead(t, n, ahead[i])
		}
	})
}

// time is what the master's clock shows.
func (w *wire) time() time.Time {
	w.t.Helper()
	micros, err := strconv.ParseInt(w.ask("EVAL", "local t = redis.call('TIME') return t[1] .. ('%06d'):format(t[2])", "0"), 10, 64)
	require.NoError(w.t, err)
	return time.UnixMicro(micros)
}

// isAhead holds the master's clock against ours, and that keys run out all the same.
func isAhead(t *testing.T, n *testcluster.Node, ahead time.Duration) {
	t.Helper()
	w := dial(t, n.Direct())
	before := time.Now().Add(ahead)
	there := w.time()
	require.False(t, there.Before(before.Truncate(time.Microsecond)), "%v", there)
	require.False(t, there.After(time.Now().Add(ahead)), "%v", there)
	require.Equal(t, "+OK", w.ask("SET", "short", "v", "PX", "50"))
	require.Equal(t, "+OK", w.ask("SET", "long", "v", "PX", "60000"))
	eventually(t, func() bool { return w.ask("GET", "short") == "$-1" }, "a key outlives its time")
	require.Equal(t, "v", w.ask("GET", "long"))
}

func TestAWallClockThatIsMovedWhileItsMasterRunsTakesItsKeysAlong(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		c := start(t, b, 2, testcluster.MovableClocks())
		n := c.Nodes[0]
		if !n.Can(testcluster.Clock) {
			require.NotEqual(t, testcluster.Processes, b)
			require.ErrorIs(t, n.SetClock(0, 1), errors.ErrUnsupported)
			return
		}
		isAhead(t, n, 0)
		w, other := dial(t, n.Direct()), dial(t, c.Nodes[1].Direct())
		for _, master := range []*wire{w, other} {
			require.Equal(t, "+OK", master.ask("SET", "k", "v", "PX", "60000"))
		}
		require.NoError(t, n.SetClock(50*time.Second, 1))
		require.Equal(t, "v", w.ask("GET", "k"))
		require.NoError(t, n.SetClock(time.Hour, 1))
		require.Equal(t, "$-1", w.ask("GET", "k"), "it lived for a minute by a clock that was put forward by an hour")
		require.Equal(t, "v", other.ask("GET", "k"), "another master's clock was moved, too")
		isAhead(t, n, time.Hour)
		require.NoError(t, n.SetClock(-time.Minute, 1))
		isAhead(t, n, -time.Minute)
		goesFaster(t, n, c.Nodes[1])
	})
}

// goesFaster holds that a clock which goes at twice the rate takes half the life of a key, and goes on so after a restart.
func goesFaster(t *testing.T, n, other *testcluster.Node) {
	t.Helper()
	const life, rate = 4 * time.Second, 2
	moving := time.Now()
	require.NoError(t, n.SetClock(0, rate))
	moved := time.Now()
	require.NoError(t, n.Kill(t.Context()))
	require.NoError(t, n.Start(t.Context(), true))
	w, v := dial(t, n.Direct()), dial(t, other.Direct())
	begun := time.Now()
	for _, master := range []*wire{w, v} {
		require.Equal(t, "+OK", master.ask("SET", "k", "v", "PX", strconv.Itoa(int(life.Milliseconds()))))
	}
	eventually(t, func() bool { return w.ask("GET", "k") == "$-1" }, "a key outlives its time")
	require.Equal(t, "v", v.ask("GET", "k"), "it went no earlier than where the clock is as it was")
	require.GreaterOrEqual(t, time.Since(begun), life/rate-time.Millisecond)
	before := time.Since(moved)
	there := w.time().Sub(moved)
	require.GreaterOrEqual(t, there, rate*before-time.Millisecond)
	require.LessOrEqual(t, there, rate*time.Since(moving)+time.Millisecond)
}
