package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

func TestLockIsHeldOnAllNodesAndGoneAfterUnlock(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	lock, err := l.Lock(t.Context(), "k", redlock.WithTTL(10*time.Second))
	require.NoError(t, err)
	require.Equal(t, "k", lock.Key())
	require.Positive(t, lock.Remaining())
	require.LessOrEqual(t, lock.Remaining(), 10*time.Second)
	tr.heldBy(5, "k")

	other, err := tr.open().TryLock(t.Context(), "k")
	require.Nil(t, other)
	require.ErrorIs(t, err, redlock.ErrTaken)
	require.ErrorIs(t, err, redlock.ErrNotAcquired)

	require.NoError(t, lock.Unlock(t.Context()))
	require.Zero(t, lock.Remaining())
	tr.gone("k")
}

func TestLockIsHadAndExclusiveWithTwoNodesDead(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.KillEmpty)
	ttl := redlock.WithTTL(time.Minute)
	l, other := tr.open(ttl), tr.open(ttl)
	tr.warm(l)
	tr.each([]int{1, 3}, kill)

	lock, err := l.Lock(endsIn(t, 10*time.Second), "k")
	require.NoError(t, err)
	_, err = other.TryLock(t.Context(), "k")
	require.ErrorIs(t, err, redlock.ErrTaken)
	require.NoError(t, lock.Unlock(t.Context()))
	lock, err = other.Lock(endsIn(t, 10*time.Second), "k")
	require.NoError(t, err)
	require.NoError(t, lock.Unlock(t.Context()))

	tr.each([]int{1, 3}, startEmpty)
}

func TestLockIsRefusedInItsBoundWithThreeNodesDead(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.KillEmpty)
	const timeout = 200 * time.Millisecond
	l := tr.open(redlock.WithNodeTimeout(timeout))
	tr.warm(l)
	dead := []int{0, 2, 4}
	tr.each(dead, kill)

	mustBeInTime(t, timeout, func() {
		_, err := l.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		require.NotErrorIs(t, err, redlock.ErrTaken)
		require.Equal(t, 3, quorumError(t, err).Quorum)
		for _, node := range dead {
			require.Contains(t, err.Error(), tr.Nodes[node].Addr())
		}
	})
	mustBeInTime(t, 400*time.Millisecond, func() {
		_, err := l.Lock(endsIn(t, 400*time.Millisecond), "k")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
	})
	tr.each(dead, startEmpty)
	lock, err := l.Lock(endsIn(t, 10*time.Second), "k")
	require.NoError(t, err, "and it is had again when they are back")
	require.NoError(t, lock.Unlock(t.Context()))
}

// A counter that is read and written in two steps, by the callers of several Lockers, each with its own connections.
func TestCounterIsRightUnderContentionOfManyLockers(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const lockers, callers, sections = 4, 4, 8
	var counter, inside atomic.Int64
	g, ctx := errgroup.WithContext(endsIn(t, time.Minute))
	for range lockers {
		l := tr.open(redlock.WithBackoff(5*time.Millisecond, 50*time.Millisecond))
		for range callers {
			g.Go(func() error {
				for range sections {
					lock, err := l.Lock(ctx, "k")
					if err != nil {
						return err
					}
					if n := inside.Add(1); n != 1 {
						return fmt.Errorf("%d are inside", n)
					}
					seen := counter.Load()
					runtime.Gosched()
					counter.Store(seen + 1)
					inside.Add(-1)
					if err := lock.Unlock(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, g.Wait())
	require.EqualValues(t, lockers*callers*sections, counter.Load())
}

func TestCounterInAFileIsRightUnderContentionOfProcesses(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	file := filepath.Join(t.TempDir(), "counter")
	require.NoError(t, os.WriteFile(file, []byte("0"), 0o600))
	const processes = 3
	var children []*child
	for range processes {
		children = append(children, tr.child("counter", fileVariable+"="+file))
	}
	for _, c := range children {
		require.NoError(t, c.end())
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(processes*countGoroutine*countSections), string(text))
}

func TestLockOutlivesARestartThatKeepsTheData(t *testing.T) {
	t.Parallel()
	tr := beginAlone(t, []testcluster.Fault{testcluster.KillKeep}, testcluster.Persistent())
	l := tr.open(redlock.WithTTL(time.Minute))
	lock := tr.lockAll(l, "k")
	tr.each(all, kill)
	tr.each(all, startKept)
	require.Len(t, tr.holders("k"), 5)

	_, err := tr.open().Lock(endsIn(t, 10*time.Second), "k", redlock.WithMaxAttempts(1))
	require.ErrorIs(t, err, redlock.ErrTaken)
	require.NoError(t, unlockAgain(t, lock), "every script is forgotten, every connection broken")
	tr.gone("k")
}

// One node of the five that granted forgets; that is within the assumptions.
func TestLockOutlivesARestartWithoutTheData(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.KillEmpty)
	l := tr.open(redlock.WithTTL(time.Minute))
	lock := tr.lockAll(l, "k")
	for _, node := range []int{1, 2} {
		tr.each([]int{node}, kill)
		tr.each([]int{node}, startEmpty)
		_, err := tr.open().TryLock(t.Context(), "k")
		require.ErrorIs(t, err, redlock.ErrTaken, "node %d came back empty", node)
	}
	require.NoError(t, unlockAgain(t, lock))
	tr.gone("k")
	lock, err := l.Lock(endsIn(t, 10*time.Second), "k")
	require.NoError(t, err)
	require.NoError(t, lock.Unlock(t.Context()))
}

// unlockAgain repeats an Unlock that finds broken connections to a majority, as its documentation says one may.
func unlockAgain(t *testing.T, lock *redlock.Lock) error {
	t.Helper()
	var err error
	until(10*time.Second, func() bool {
		err = lock.Unlock(t.Context())
		return err == nil || !errors.Is(err, redlock.ErrNoQuorum)
	})
	return err
}

func TestCancelledCallerGetsItsErrorAndLeavesNothing(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open(redlock.WithNodeTimeout(2 * generous))
	tr.warm(l)
	for _, n := range tr.Nodes {
		n.Proxy().Delay(0, generous/2) // so that no answer can be there when the context ends
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the request is over")
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	mustBeInTime(t, 50*time.Millisecond, func() {
		_, err := l.Lock(ctx, "k")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, why)
		require.ErrorIs(t, err, redlock.ErrNotAcquired)
	})
	require.True(t, until(3*generous, func() bool {
		return tr.sent("evalsha")+tr.sent("eval") >= 10 && len(tr.holders("k")) == 0
	}), "undone on five nodes")
}
