package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// lossy runs f for replies lost on 1, 2, 3 and all nodes, with connections that are closed then, and that fall silent.
func lossy(t *testing.T, f func(t *testing.T, lost int, then testcluster.Then)) {
	t.Helper()
	for name, then := range map[string]testcluster.Then{"closed": testcluster.ThenClose, "silent": testcluster.ThenSilent} {
		for _, lost := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprintf("%s, %d of 5", name, lost), func(t *testing.T) {
				t.Parallel()
				f(t, lost, then)
			})
		}
	}
}

// F04: the nodes did grant. Nobody else wants the lock, so "taken" would be a lie at any time.
func TestALostReplyOfSetIsNeverTaken(t *testing.T) {
	t.Parallel()
	lossy(t, func(t *testing.T, lost int, then testcluster.Then) {
		tr := begin(t)
		var taken atomic.Int64
		l := tr.open(redlock.WithHooks(redlock.Hooks{Attempt: func(_ context.Context, a redlock.Attempt) {
			if errors.Is(a.Err, redlock.ErrTaken) {
				taken.Add(1)
			}
		}}), redlock.WithNodeTimeout(500*time.Millisecond))
		tr.warm(l)
		for _, n := range tr.Nodes[:lost] {
			n.Proxy().DropReplies(1, then, "SET")
		}
		lock, err := l.TryLock(t.Context(), "k")
		tr.lost(lost)
		if lost < 3 {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			require.NotErrorIs(t, err, redlock.ErrTaken)
			lock, err = l.Lock(endsIn(t, 10*time.Second), "k")
			require.NoError(t, err, "and it is to be had: only we ever held it")
		}
		require.NoError(t, unlockAgain(t, lock))
		require.Zero(t, taken.Load(), "no attempt was told that its own key is somebody else's")
		tr.gone("k")
	})
}

// lost waits until the replies that were to be lost are: the call returns when the others can change nothing any more.
func (tr *trial) lost(nodes int) {
	tr.t.Helper()
	require.True(tr.t, until(generous, func() bool {
		armed := 0
		for _, n := range tr.Nodes[:nodes] {
			armed += n.Proxy().Armed()
		}
		return armed == 0
	}))
}

// F05: the nodes did release. That the key is absent then is no sign of a loss.
func TestALostReplyOfAReleaseIsNeverLost(t *testing.T) {
	t.Parallel()
	lossy(t, func(t *testing.T, lost int, then testcluster.Then) {
		tr := begin(t)
		l := tr.open(redlock.WithNodeTimeout(500*time.Millisecond), redlock.WithTTL(time.Minute))
		tr.warm(l)
		lock := tr.lockAll(l, "k")
		for _, n := range tr.Nodes[:lost] {
			n.Proxy().DropReplies(1, then, "EVALSHA")
		}
		err := lock.Unlock(t.Context())
		require.NotErrorIs(t, err, redlock.ErrLost)
		tr.lost(lost)
		tr.gone("k")
		if err != nil {
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			require.GreaterOrEqual(t, lost, 3, "a minority does not matter: %v", err)
			require.NoError(t, unlockAgain(t, lock))
		}
		require.ErrorIs(t, lock.Unlock(t.Context()), redlock.ErrUnlocked)
	})
}

// F11: the nodes grant, but the replies come when the lock's time is over; it was never held.
func TestALockWhoseRepliesOutlastItsTTLIsNotHeld(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open(redlock.WithNodeTimeout(180*time.Millisecond), redlock.WithTTL(200*time.Millisecond))
	tr.warm(l)
	for _, n := range tr.Nodes {
		n.Proxy().Delay(0, 250*time.Millisecond)
	}
	lock, err := l.TryLock(t.Context(), "k")
	require.Nil(t, lock)
	require.ErrorIs(t, err, redlock.ErrNotAcquired)
	require.NotErrorIs(t, err, redlock.ErrTaken)
	tr.gone("k")
}
