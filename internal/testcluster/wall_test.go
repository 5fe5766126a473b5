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

// isAhead holds the master's clock against ours, and that keys run out all the same.
func isAhead(t *testing.T, n *testcluster.Node, ahead time.Duration) {
	t.Helper()
	w := dial(t, n.Direct())
	before := time.Now().Add(ahead)
	micros, err := strconv.ParseInt(w.ask("EVAL", "local t = redis.call('TIME') return t[1] .. ('%06d'):format(t[2])", "0"), 10, 64)
	require.NoError(t, err)
	there := time.UnixMicro(micros)
	require.False(t, there.Before(before.Truncate(time.Microsecond)), "%v", there)
	require.False(t, there.After(time.Now().Add(ahead)), "%v", there)
	require.Equal(t, "+OK", w.ask("SET", "short", "v", "PX", "50"))
	require.Equal(t, "+OK", w.ask("SET", "long", "v", "PX", "60000"))
	eventually(t, func() bool { return w.ask("GET", "short") == "$-1" }, "a key outlives its time")
	require.Equal(t, "v", w.ask("GET", "long"))
}
