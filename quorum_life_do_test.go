package quorum_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

var errWork = errors.New("the work failed")

// F39. The function's error comes first, and the lock's does not hide it.
func TestDoTellsTheFunctionsErrorFirstAndTheLocksBehind(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Config)
	l := tr.open(redlock.WithTTL(time.Minute))
	tr.warm(l)
	forbid := func() { // on every node: which of them carry the lock, a slow machine decides
		for node := range tr.Nodes {
			tr.must(node, "acl", "setuser", "default", "-eval", "-evalsha")
		}
	}
	allow := func() {
		for node := range tr.Nodes {
			tr.must(node, "acl", "setuser", "default", "+eval", "+evalsha")
		}
	}
	do := func(fn func() error) error {
		return l.Do(t.Context(), "k", func(context.Context, *redlock.Lock) error { return fn() })
	}
	require.NoError(t, do(func() error { return nil }))
	tr.gone("k")
	require.Equal(t, errWork, do(func() error { return errWork }), "the lock has nothing to add")
	tr.gone("k")

	err := do(func() error { forbid(); return errWork })
	require.ErrorIs(t, err, errWork)
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	require.Regexp(t, "^"+errWork.Error(), err.Error())
	allow()
	tr.gone("k") // the library goes on trying by itself

	err = do(func() error { forbid(); return nil })
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	allow()
	tr.gone("k")

	tr.take("k", time.Minute, all...)
	called := false
	err = l.Do(endsIn(t, 50*time.Millisecond), "k", func(context.Context, *redlock.Lock) error { called = true; return errWork })
	require.ErrorIs(t, err, redlock.ErrTaken)
	require.NotErrorIs(t, err, errWork)
	require.False(t, called, "without the lock there is no work")
}

// F39. A panic in the work goes on, and so does a Goexit, as of t.FailNow: the lock is given back before.
func TestDoGivesTheLockBackWhenTheFunctionPanics(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open(redlock.WithTTL(time.Minute))
	tr.warm(l)
	require.PanicsWithValue(t, "no good", func() {
		_ = l.Do(t.Context(), "k", func(context.Context, *redlock.Lock) error { panic("no good") })
	})
	tr.gone("k")
	var leaving sync.WaitGroup
	leaving.Go(func() {
		_ = l.Do(t.Context(), "k", func(context.Context, *redlock.Lock) error { runtime.Goexit(); return nil })
	})
	leaving.Wait()
	tr.gone("k")
}

// The lock is kept alive for longer than its TTL while the function runs, and every context it has ends with it.
func TestDoKeepsTheLockForAsLongAsTheFunctionRuns(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const ttl = 2 * time.Second
	l := tr.open(redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl/2))
	var held context.Context
	require.NoError(t, l.Do(t.Context(), "k", func(ctx context.Context, lock *redlock.Lock) error {
		held = ctx
		for end := time.Now().Add(2 * ttl); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			require.NoError(t, lock.Err())
			require.NoError(t, ctx.Err())
		}
		_, err := tr.openAt(tr.urls(true)).TryLock(ctx, "k")
		require.ErrorIs(t, err, redlock.ErrTaken)
		return nil
	}))
	require.ErrorIs(t, context.Cause(held), redlock.ErrUnlocked)
	tr.gone("k")
}

// The lock is lost while the function runs: it is told by its context, and Do ends as soon as it returns, with both errors.
func TestDoEndsPromptlyWhenTheLockIsLost(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const ttl = time.Second
	l := tr.open(redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl/4))
	tr.warm(l)
	var told time.Time
	err := l.Do(t.Context(), "k", func(ctx context.Context, _ *redlock.Lock) error {
		tr.atAll(func(p *testcluster.Proxy) { p.BlackHole(true) })
		mustBeInTime(t, ttl, func() { <-ctx.Done() })
		tr.atAll(func(p *testcluster.Proxy) { p.BlackHole(false) })
		told = time.Now()
		return context.Cause(ctx)
	})
	require.Less(t, time.Since(told), ttl/2+generous/4, "twice the node timeout for the release, and no more")
	require.ErrorIs(t, err, redlock.ErrLost)
	tr.gone("k")
}
