package quorum_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// F67: the nodes forget every script, between a lock and its unlock and all the time.
func TestScriptsThatAreForgottenCostNothing(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	for range 20 {
		lock := tr.lockAll(l, "k")
		for _, look := range tr.looks {
			require.NoError(t, look.ScriptFlush(t.Context()).Err())
		}
		require.NoError(t, lock.Unlock(t.Context()))
		tr.gone("k")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var flushing sync.WaitGroup
	for _, look := range tr.looks {
		flushing.Go(func() {
			for ctx.Err() == nil {
				_ = look.ScriptFlush(ctx).Err()
				time.Sleep(time.Millisecond)
			}
		})
	}
	err := cycles(t, l, 8, 50)
	cancel()
	flushing.Wait()
	require.NoError(t, err)
}

// F69: nodes that are full refuse to set, and still release.
func TestNodesWithoutMemoryRefuseLocksAndReleaseThem(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Config)
	l := tr.open()
	tr.warm(l)
	held := tr.lockAll(l, "held")
	for node := range 3 {
		tr.do(node, []any{"config", "set", "maxmemory", "0"}, "config", "set", "maxmemory", "1")
	}
	_, err := l.TryLock(t.Context(), "k")
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	require.NotErrorIs(t, err, redlock.ErrTaken)
	require.ErrorContains(t, err, "OOM")
	require.Len(t, quorumError(t, err).Errs, 3)
	require.NoError(t, held.Unlock(t.Context()))
	tr.gone("held")
	for node := range 3 {
		tr.must(node, "config", "set", "maxmemory", "0")
	}
	tr.warm(l)
}

// F71: nodes that are up and refuse, each in its words, which are passed on; and it is over when they stop.
func TestNodesThatRefuseAreNamedWithTheirReasonUntilTheyStop(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ refuse, relent []any }{
		"NOREPLICAS": {[]any{"config", "set", "min-replicas-to-write", "1"}, []any{"config", "set", "min-replicas-to-write", "0"}},
		"NOPERM":     {[]any{"acl", "setuser", "default", "-set"}, []any{"acl", "setuser", "default", "+set"}},
	}
	for reason, tt := range tests {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			tr := begin(t, testcluster.Config)
			l := tr.open()
			tr.warm(l)
			for node := range 3 {
				tr.do(node, tt.relent, tt.refuse...)
			}
			_, err := l.TryLock(t.Context(), "k")
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			require.NotErrorIs(t, err, redlock.ErrTaken)
			require.ErrorContains(t, err, reason)
			for node, e := range quorumError(t, err).Errs {
				require.Equal(t, node, e.Index)
				require.True(t, redis.HasErrorPrefix(e.Err, reason), "%v", e)
			}
			for node := range 3 {
				tr.must(node, tt.relent...)
			}
			tr.warm(l)
		})
	}
}

// F71: a disk that cannot be written to.
func TestNodesThatCannotSaveRefuseWithTheirReason(t *testing.T) {
	t.Parallel()
	tr := beginAlone(t, []testcluster.Fault{testcluster.Config}, testcluster.ServerArgs("--save", "3600 1", "--dir", "/proc"))
	l := tr.open()
	tr.warm(l)
	for _, look := range tr.looks[:3] {
		require.NoError(t, look.BgSave(t.Context()).Err())
		require.True(t, until(time.Minute, func() bool {
			state, err := look.InfoMap(t.Context(), "persistence").Result()
			require.NoError(t, err)
			return state["Persistence"]["rdb_last_bgsave_status"] == "err"
		}))
	}
	_, err := l.TryLock(t.Context(), "k")
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	require.ErrorContains(t, err, "MISCONF")
	for _, look := range tr.looks[:3] {
		require.NoError(t, look.ConfigSet(t.Context(), "stop-writes-on-bgsave-error", "no").Err())
	}
	tr.warm(l)
}

// F71: three nodes come back and read their data for a while; the lock that was held across it is still held.
func TestNodesThatAreLoadingCostTheirVotesForAsLong(t *testing.T) {
	t.Parallel()
	const keys, delay = 8000, "150" // microseconds a key
	tr := beginAlone(t, []testcluster.Fault{testcluster.Config, testcluster.KillKeep}, testcluster.Persistent(),
		testcluster.ServerArgs("--key-load-delay", delay))
	loading := []int{0, 1, 2}
	for _, node := range loading {
		_, err := tr.looks[node].Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for i := range keys {
				p.Set(t.Context(), fmt.Sprint("data", i), i, 0)
			}
			return nil
		})
		require.NoError(t, err)
	}
	l := tr.openAt(tr.urls(true), redlock.WithTTL(time.Minute))
	held := tr.lockAll(l, "held")
	tr.each(loading, kill)
	var starting sync.WaitGroup
	starting.Go(func() { tr.each(loading, startKept) })
	said := until(time.Minute, func() bool {
		_, err := l.TryLock(t.Context(), "k")
		require.NotErrorIs(t, err, redlock.ErrTaken)
		if err == nil {
			return true // too late to see it
		}
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		e := quorumError(t, err)
		for _, node := range e.Errs {
			if redis.HasErrorPrefix(node.Err, "LOADING") {
				return true
			}
		}
		return false
	})
	starting.Wait()
	require.True(t, said)
	lock, err := l.Lock(endsIn(t, time.Minute), "k")
	require.NoError(t, err)
	require.NoError(t, unlockAgain(t, lock))
	_, err = tr.openAt(tr.urls(true)).TryLock(t.Context(), "held")
	require.ErrorIs(t, err, redlock.ErrTaken)
	require.NoError(t, unlockAgain(t, held))
	tr.gone("held")
}
