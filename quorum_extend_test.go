package quorum_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// ends returns the times between which the lock's validity is over.
func ends(lock *redlock.Lock) (from, to time.Time) {
	from = time.Now()
	left := lock.Remaining()
	return from.Add(left), time.Now().Add(left)
}

// F30. Extends set the life to the TTL; they do not add up.
func TestExtendsDoNotAddUp(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const ttl = 10 * time.Second
	lock := tr.lockAll(tr.open(redlock.WithTTL(ttl)), "k")
	for range 10 {
		_, before := ends(lock)
		require.NoError(t, lock.Extend(t.Context()))
		_, after := ends(lock)
		require.True(t, after.After(before), "each moves the end on")
		require.LessOrEqual(t, lock.Remaining(), ttl)
	}
	for _, look := range tr.looks {
		require.LessOrEqual(t, look.PTTL(t.Context(), tr.prefix+"k").Val(), ttl)
	}
	require.NoError(t, lock.Unlock(t.Context()))
	tr.gone("k")
}

// F14. The nodes extend, and their replies come after the node timeout: that is a failure, which moves no end, neither at once
// nor when the replies are there. The lock is held until then, and can be extended once they are quick again.
func TestAnExtendWhoseRepliesAreLateFailsAndMovesNoEnd(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const timeout = 200 * time.Millisecond
	l := tr.open(redlock.WithTTL(30*time.Second), redlock.WithNodeTimeout(timeout))
	lock := tr.lockAll(l, "k")
	tr.atAll(func(p *testcluster.Proxy) { p.Delay(0, 2*timeout) })
	from, to := ends(lock)
	mustBeInTime(t, timeout, func() {
		err := lock.Extend(t.Context())
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		require.NotErrorIs(t, err, redlock.ErrLost)
		require.NotErrorIs(t, err, redlock.ErrNotAcquired)
		require.Zero(t, quorumError(t, err).Granted)
	})
	time.Sleep(2 * timeout) // the replies are there by now
	for range 2 {
		early, late := ends(lock)
		require.False(t, late.Before(from) || early.After(to), "the end moved from %v to %v", from, early)
		tr.atAll(func(p *testcluster.Proxy) { p.Delay(0, 0) })
	}
	require.NoError(t, extendAgain(t, lock))
	early, _ := ends(lock)
	require.True(t, early.After(to))
	require.NoError(t, unlockAgain(t, lock))
	tr.gone("k")
}

// F14. The replies of a majority come within the node timeout, and after the validity: what they confirm was lost before.
func TestAnExtendThatIsConfirmedAfterTheValidityIsLost(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const ttl = time.Second
	l := tr.open(redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl*9/10))
	known := tr.lockAll(l, "known", redlock.WithTTL(time.Minute))
	require.NoError(t, extendAgain(t, known), "the nodes know the script from here on")
	require.NoError(t, unlockAgain(t, known))
	lock := tr.lockAll(l, "k")
	require.True(t, until(generous, func() bool {
		if lock.Remaining() > ttl/2 {
			return true
		}
		_ = unlockAgain(t, lock)
		tr.gone("k")
		lock = tr.lockAll(l, "k")
		return false
	}), "the machine is too slow to have half a second left of a lock")
	tr.atAll(func(p *testcluster.Proxy) { p.Delay(0, ttl*6/10) })
	until(ttl, func() bool { return lock.Remaining() < ttl/2 })
	mustBeInTime(t, ttl*6/10, func() { require.ErrorIs(t, lock.Extend(t.Context()), redlock.ErrLost) })
	tr.atAll(func(p *testcluster.Proxy) { p.Delay(0, 0) })
	tr.mustEndLost(lock)
}

// F20. The lock ran out, and somebody else has it: an Extend sends nothing.
func TestExtendOfALockThatRanOutSendsNothing(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open(short(time.Second)...)
	lock := tr.lockAll(l, "k")
	runOut(t, lock)
	tr.gone("k")
	other := tr.lockAll(tr.openAt(tr.urls(true), redlock.WithTTL(time.Minute)), "k")
	before := tr.values("k")
	sent := tr.sent("")
	require.ErrorIs(t, lock.Extend(t.Context()), redlock.ErrLost)
	require.ErrorIs(t, lock.KeepAlive(t.Context()), redlock.ErrLost)
	require.Equal(t, sent, tr.sent(""))
	require.Equal(t, before, tr.values("k"))
	require.NoError(t, other.Unlock(t.Context()))
	require.ErrorIs(t, lock.Unlock(t.Context()), redlock.ErrLost)
	tr.gone("k")
}

// F20. The nodes let the lock go and its holder does not know, as where their clocks leapt: it is lost, and neither is the key
// of whoever has it now touched, nor is one made where it is free.
func TestExtendOfALockThatTheNodesLetGoIsLostAndTouchesNothing(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"free": false, "taken": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t)
			lock := tr.lockAll(tr.open(redlock.WithTTL(time.Minute)), "k")
			tr.free("k")
			var other *redlock.Lock
			var expiries []time.Time
			if taken {
				other = tr.lockAll(tr.openAt(tr.urls(true), redlock.WithTTL(10*time.Second)), "k")
				for _, look := range tr.looks {
					expiries = append(expiries, tr.expiry(look, "k"))
				}
			}
			before := tr.values("k")
			err := lock.Extend(t.Context())
			require.ErrorIs(t, err, redlock.ErrLost)
			require.Equal(t, taken, errors.Is(err, redlock.ErrTaken))
			require.ErrorIs(t, lock.Unlock(t.Context()), redlock.ErrLost)
			require.Equal(t, before, tr.values("k"))
			for i, at := range expiries {
				require.WithinDuration(t, at, tr.expiry(tr.looks[i], "k"), time.Second)
			}
			if taken {
				require.NoError(t, other.Unlock(t.Context()))
			}
			tr.mustEndLost(lock)
		})
	}
}
