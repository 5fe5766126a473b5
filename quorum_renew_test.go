package quorum_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// F26. Three nodes are silent for a second, which a renewal meets: it is tried again, quickly enough, and the lock is held all
// the time. Then the next lock on the same key is renewed as well.
func TestABlipOfASecondOnThreeNodesCostsNoLockAndTheNextIsRenewedToo(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const ttl = 3 * time.Second
	seen, hooks := watchJeopardies()
	l := tr.open(redlock.WithTTL(ttl), redlock.WithNodeTimeout(200*time.Millisecond), hooks)
	tr.warm(l)
	called := time.Now()
	lock := tr.lockAll(l, "k")
	kept := keep(t.Context(), lock)
	time.Sleep(time.Until(called.Add(ttl/3 - 100*time.Millisecond))) // a renewal is due in the middle of it
	for _, n := range tr.Nodes[:3] {
		n.Proxy().BlackHole(true)
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		require.NoError(t, lock.Err())
	}
	for _, n := range tr.Nodes[:3] {
		n.Proxy().BlackHole(false)
	}
	last, extended := seen.of("k")
	require.NotZero(t, last.count, "no renewal has failed")
	require.ErrorIs(t, last.err, redlock.ErrNoQuorum)
	require.True(t, until(ttl, func() bool { _, now := seen.of("k"); return now > extended }), "and it goes on")
	require.NoError(t, unlockAgain(t, lock))
	require.NoError(t, kept(), "a lock that was given up ends its renewal without an error")
	tr.gone("k")

	next, err := l.Lock(endsIn(t, 10*time.Second), "k")
	require.NoError(t, err)
	kept = keep(t.Context(), next)
	_, before := seen.of("k")
	for end := time.Now().Add(ttl + ttl/3); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		require.NoError(t, next.Err())
	}
	_, after := seen.of("k")
	require.GreaterOrEqual(t, after-before, 2)
	require.NoError(t, unlockAgain(t, next))
	require.NoError(t, kept())
	tr.gone("k")
}

// F28. Whoever kept the lock is gone and has not given it back: the nodes let it go within its TTL.
func TestACancelledKeepAliveLetsTheKeyGoWithinTheTTL(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const ttl = time.Second
	seen, hooks := watchJeopardies()
	l := tr.open(redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl/2), hooks)
	lock := tr.lockAll(l, "k")
	ctx, cancel := context.WithCancelCause(t.Context())
	kept := keep(ctx, lock)
	require.True(t, until(time.Minute, func() bool { _, n := seen.of("k"); return n >= 3 }))
	require.NoError(t, lock.Err())
	cancel(errors.New("the request is over"))
	require.ErrorIs(t, kept(), context.Canceled)
	require.NoError(t, lock.Err(), "it lives on until its validity passes")
	mustBeInTime(t, ttl, func() { <-lock.Done() })
	tr.gone("k") // one that was still extended would be there for good
	require.ErrorIs(t, lock.Err(), redlock.ErrLost)
	require.ErrorIs(t, lock.Unlock(t.Context()), redlock.ErrLost)
}

// F28. Whoever holds the lock hangs: it ends at the maximum, however well it is renewed, and the nodes let it go.
func TestAMaximumHoldEndsALockThatIsRenewed(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const ttl, hold = time.Second, 2500 * time.Millisecond
	seen, hooks := watchJeopardies()
	l := tr.open(redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl/2), hooks)
	tr.warm(l)
	start := time.Now()
	lock, err := l.Lock(endsIn(t, time.Minute), "k", redlock.WithMaxHold(hold))
	require.NoError(t, err)
	kept := keep(t.Context(), lock)
	ctx, cancel := lock.Context(t.Context())
	defer cancel()
	mustBeInTime(t, hold, func() { <-ctx.Done() })
	require.GreaterOrEqual(t, time.Since(start), hold-slack)
	require.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
	require.ErrorIs(t, kept(), redlock.ErrLost)
	_, extended := seen.of("k")
	require.GreaterOrEqual(t, extended, 3)
	require.ErrorIs(t, lock.Extend(t.Context()), redlock.ErrLost)
	mustBeInTime(t, ttl, func() {
		require.True(t, until(2*ttl, func() bool { return len(tr.holders("k")) == 0 }), "without anybody's help")
	})
	require.ErrorIs(t, lock.Unlock(t.Context()), redlock.ErrLost)
}

// A second KeepAlive is refused while there is one, and one on a lock that has ended returns at once.
func TestALockIsKeptAliveByOneCallOnly(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	seen, hooks := watchJeopardies()
	l := tr.open(redlock.WithTTL(generous*3/2), hooks)
	lock := tr.lockAll(l, "k")
	ctx, cancel := context.WithCancel(t.Context())
	first := keep(ctx, lock)
	require.True(t, until(time.Minute, func() bool { _, n := seen.of("k"); return n > 0 })) // it is under way
	require.ErrorIs(t, lock.KeepAlive(t.Context()), redlock.ErrInvalid)
	cancel()
	require.ErrorIs(t, first(), context.Canceled)
	require.ErrorIs(t, lock.KeepAlive(expired(t)), context.DeadlineExceeded, "the first has ended: another may begin")
	require.NoError(t, lock.Unlock(t.Context()))
	require.ErrorIs(t, lock.KeepAlive(t.Context()), redlock.ErrUnlocked)
	tr.gone("k")
}

// F27. The nodes are cut off and nobody is told: no RST, no answer. What the holder hears comes by his own clock.
func TestAHolderThatIsCutOffHearsOfItByHisOwnClock(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Partition)
	const ttl = time.Second
	l := tr.openAt(tr.urls(true), short(ttl)...)
	tr.warm(l)
	lock := tr.lock(l, "k")
	kept := keep(t.Context(), lock)
	tr.partition(all)
	mustBeInTime(t, ttl, func() { <-lock.Done() })
	require.ErrorIs(t, lock.Err(), redlock.ErrLost)
	require.ErrorIs(t, kept(), redlock.ErrLost)
	tr.each(all, func(ctx context.Context, n *testcluster.Node) error { return n.Heal(ctx) })
	require.ErrorIs(t, lock.Unlock(t.Context()), redlock.ErrLost)
}
