package quorum_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// short are the settings of locks that run out within a test.
func short(ttl time.Duration) []redlock.Option {
	return []redlock.Option{redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl / 2)}
}

// runOut waits until the lock cannot be trusted any more.
func runOut(t *testing.T, lock *redlock.Lock) {
	t.Helper()
	require.True(t, until(time.Minute, func() bool { return lock.Remaining() == 0 }))
	require.True(t, lock.Until().IsZero())
}

// F33, F35: it ran out, which is neither trouble with Redis nor somebody else's lock; and though Lock would try for ever,
// Unlock does not.
func TestUnlockOfALockThatRanOutIsLost(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const ttl = time.Second
	l := tr.open(append(short(ttl), redlock.WithBackoff(time.Hour, time.Hour))...)
	lock := tr.lockAll(l, "k")
	runOut(t, lock)
	mustBeInTime(t, ttl, func() { // twice the node timeout
		err := lock.Unlock(t.Context())
		require.ErrorIs(t, err, redlock.ErrLost)
		require.NotErrorIs(t, err, redlock.ErrNoQuorum)
		require.NotErrorIs(t, err, redlock.ErrTaken)
		require.NotErrorIs(t, err, redlock.ErrNotAcquired)
	})
	require.ErrorIs(t, lock.Unlock(t.Context()), redlock.ErrLost, "what was said lost stays so")
	tr.gone("k")
}

// F33: somebody else has it by now, and keeps it.
func TestUnlockOfALockThatIsSomebodyElsesIsLostAndTaken(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open(short(time.Second)...)
	lock := tr.lockAll(l, "k")
	runOut(t, lock)
	tr.gone("k") // the drift, by which the nodes keep it longer
	other := tr.lockAll(tr.open(redlock.WithTTL(time.Minute)), "k")
	before := tr.values("k")

	err := lock.Unlock(t.Context())
	require.ErrorIs(t, err, redlock.ErrLost)
	require.ErrorIs(t, err, redlock.ErrTaken)
	require.GreaterOrEqual(t, quorumError(t, err).Refused, 3)
	require.Equal(t, before, tr.values("k"))
	require.NoError(t, other.Unlock(t.Context()))
	tr.gone("k")
}

// F34: one of many at once succeeds, and none after it asks a node.
func TestOneUnlockOfManySucceedsAndTheOthersSendNothing(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	tr.warm(l)
	lock := tr.lockAll(l, "k")
	before := tr.sent("evalsha")
	const callers = 20
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = lock.Unlock(t.Context()) })
	}
	all.Wait()
	succeeded := 0
	for _, err := range errs {
		if err == nil {
			succeeded++
			continue
		}
		require.ErrorIs(t, err, redlock.ErrUnlocked)
	}
	require.Equal(t, 1, succeeded)
	tr.gone("k")
	require.ErrorIs(t, lock.Unlock(t.Context()), redlock.ErrUnlocked)
	require.Equal(t, before+5, tr.sent("evalsha"))
}

// F16: a handle that was never given holds nothing, and a key that is absent is nobody's.
func TestAHandleOfNothingHoldsNothing(t *testing.T) {
	t.Parallel()
	var lock *redlock.Lock
	require.Zero(t, lock.Remaining())
	require.True(t, lock.Until().IsZero())
	require.Empty(t, lock.Key())
	require.ErrorIs(t, lock.Unlock(t.Context()), redlock.ErrUnlocked)

	tr := begin(t)
	held := tr.lockAll(tr.open(), "k")
	tr.free("k") // every node forgets it
	require.ErrorIs(t, held.Unlock(t.Context()), redlock.ErrLost)
}

// F37: the nodes refuse to run the release; each says so, and the lock is still ours to give back.
func TestUnlockThatTheNodesForbidNamesThemAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Config)
	l := tr.open()
	lock := tr.lockAll(l, "k")
	for _, node := range []int{0, 2, 4} {
		tr.do(node, []any{"acl", "setuser", "default", "+@all"}, "acl", "setuser", "default", "-eval", "-evalsha")
	}
	err := lock.Unlock(t.Context())
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	require.ErrorContains(t, err, "NOPERM")
	e := quorumError(t, err)
	require.Len(t, e.Errs, 3)
	for i, node := range e.Errs {
		require.Equal(t, 2*i, node.Index)
	}
	require.Equal(t, []int{0, 2, 4}, tr.holders("k"))
	for _, node := range []int{0, 2, 4} {
		tr.must(node, "acl", "setuser", "default", "+@all")
	}
	require.NoError(t, lock.Unlock(t.Context()))
	tr.gone("k")
}

// do runs a command on a node, and another when the test ends.
func (tr *trial) do(node int, undo []any, args ...any) {
	tr.t.Helper()
	tr.must(node, args...)
	tr.t.Cleanup(func() { // before end looks at the masters
		ctx, cancel := bounded()
		defer cancel()
		require.NoError(tr.t, tr.looks[node].Do(ctx, undo...).Err())
	})
}

func (tr *trial) must(node int, args ...any) {
	tr.t.Helper()
	require.NoError(tr.t, tr.looks[node].Do(tr.t.Context(), args...).Err())
}

// F38: too few nodes are left to hold the lock, so that it is given back; who did not answer is detail.
func TestUnlockIsDoneWithAMinorityOfNodesDead(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.KillEmpty)
	l := tr.open(redlock.WithTTL(time.Minute))
	lock := tr.lockAll(l, "k")
	tr.each([]int{3, 4}, kill)
	mustBeInTime(t, generous, func() { require.NoError(t, lock.Unlock(t.Context())) })
	tr.each([]int{3, 4}, startEmpty)
}

// F38: too many nodes are silent; the error names them, in its bound.
func TestUnlockWithAMajorityStoppedNamesTheNodesInItsBound(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Stop)
	l := tr.over(tr.onDefaults(), redlock.WithTTL(time.Minute))
	tr.warm(l)
	lock := tr.lockAll(l, "k")
	stopped := []int{1, 2, 3}
	tr.each(stopped, stop)
	mustBeInTime(t, 2*defaultTimeout, func() {
		err := lock.Unlock(context.WithoutCancel(t.Context()))
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		require.NotErrorIs(t, err, redlock.ErrLost)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, quorumError(t, err).Granted, 2)
	})
	tr.each(stopped, cont)
	require.NoError(t, unlockAgain(t, lock))
	tr.gone("k")
}
