package quorum_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/redlock"
)

// F53: the context's error, its cause and what the last attempt met are all there to be asked for.
func TestACancelledWaitTellsWhyAndWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	tr.warm(l)
	tr.take("k", time.Minute, all...)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("nobody wants it any more")
	tried := make(chan struct{}, 1000)
	waiting := tr.open(redlock.WithHooks(redlock.Hooks{Attempt: func(context.Context, redlock.Attempt) { tried <- struct{}{} }}))
	returned := make(chan error, 1)
	go func() {
		_, err := waiting.Lock(ctx, "k")
		returned <- err
	}()
	<-tried
	<-tried // it goes on trying
	mustBeInTime(t, 0, func() {
		cancel(why)
		err := <-returned
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, why)
		require.ErrorIs(t, err, redlock.ErrNotAcquired)
		require.ErrorContains(t, err, "k")
	})
}

// F60: the pause between two attempts is long, and ends with the context.
func TestACancelledPauseEndsAtOnce(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	tried := make(chan struct{}, 1000)
	l := tr.open(redlock.WithBackoff(time.Hour, time.Hour),
		redlock.WithHooks(redlock.Hooks{Attempt: func(context.Context, redlock.Attempt) { tried <- struct{}{} }}))
	tr.take("k", time.Minute, all...)
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() {
		_, err := l.Lock(ctx, "k")
		returned <- err
	}()
	<-tried
	mustBeInTime(t, 0, func() {
		cancel()
		err := <-returned
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, redlock.ErrTaken, "what the last attempt met")
	})
}

// F62, F12: the wait is bounded by the context and not by the TTL, and the TTL counts from the attempt that succeeded.
func TestWaitsLongerThanTheTTLAndHoldsItInFull(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const ttl, held = 2 * time.Second, 5 * time.Second
	l := tr.open(redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl/4))
	tr.warm(l)
	tr.take("k", held, all...)
	start := time.Now()
	lock, err := l.Lock(endsIn(t, time.Minute), "k")
	require.NoError(t, err)
	require.Greater(t, lock.Remaining(), ttl/2)
	require.Greater(t, time.Since(start), held-time.Second)
	require.NoError(t, unlockAgain(t, lock))
}

// F63: nobody gives back the lock of a process that was killed; it is had when its TTL is over, and not much later.
// Not parallel: its bound is that of the poll.
func TestLockOfAKilledProcessIsHadWhenItsTTLIsOver(t *testing.T) {
	tr := begin(t)
	l := tr.open()
	tr.warm(l)
	holder := tr.child("holder")
	require.Equal(t, "held", holder.hear())
	require.NoError(t, holder.cmd.Process.Kill())
	require.Error(t, holder.end())
	_, err := l.TryLock(t.Context(), "k")
	require.ErrorIs(t, err, redlock.ErrTaken)
	// The SETs to the last nodes may have died with the process; what the attempt above got there is being undone.
	var left time.Duration
	require.Eventually(t, func() bool { left = tr.longest("k"); return left <= holderTTL }, generous, time.Millisecond)
	require.Positive(t, left)
	mustBeInTime(t, left+100*time.Millisecond, func() { // the longest pause between two attempts
		lock, err := l.Lock(endsIn(t, time.Minute), "k")
		require.NoError(t, err)
		require.NoError(t, lock.Unlock(t.Context()))
	})
	tr.gone("k")
}

// longest returns for how long some node will still hold the key.
func (tr *trial) longest(key string) time.Duration {
	tr.t.Helper()
	var ttls []time.Duration
	for _, look := range tr.looks {
		ttl, err := look.PTTL(tr.t.Context(), tr.prefix+key).Result()
		require.NoError(tr.t, err)
		ttls = append(ttls, ttl)
	}
	return slices.Max(ttls)
}

// F12: a lock that was waited for through many attempts is as good as one that was had at once, and given back as well.
func TestALockAfterALongWaitIsGivenBackWithoutAnError(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l, other := tr.open(), tr.open()
	tr.warm(l)
	held := tr.lockAll(other, "k")
	tried := 0
	waiting := tr.open(redlock.WithTTL(5*time.Second), redlock.WithHooks(redlock.Hooks{Attempt: func(_ context.Context, a redlock.Attempt) {
		if tried++; tried == 5 {
			require.NoError(t, unlockAgain(t, held))
		}
		require.Equal(t, tried, a.Number)
	}}))
	lock, err := waiting.Lock(endsIn(t, time.Minute), "k")
	require.NoError(t, err)
	require.GreaterOrEqual(t, tried, 5)
	require.Greater(t, lock.Remaining(), 5*time.Second-generous)
	require.NoError(t, lock.Unlock(t.Context()))
}
