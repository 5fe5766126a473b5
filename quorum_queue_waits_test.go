package quorum_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// The tests of waiting are not parallel, but for those without a bound: theirs are a few round trips, and the heavy ones beside them would
// be what is measured.

// longPoll makes the poll so rare that it is no help: what a waiter learns it learns from a hint.
var longPoll = redlock.WithBackoff(30*time.Second, 30*time.Second)

// queued is how many wait in the queue of a key, on its canary.
func (tr *trial) queued(key string) int {
	tr.t.Helper()
	n, err := tr.looks[tr.canary(key, tr.Addrs())].LLen(tr.t.Context(), tr.prefix+"~q:"+key).Result()
	require.NoError(tr.t, err)
	return int(n)
}

// awaitQueued waits until so many wait for the key.
func (tr *trial) awaitQueued(key string, n int) {
	tr.t.Helper()
	require.True(tr.t, until(20*time.Second, func() bool { return tr.queued(key) == n }),
		"%d wait for %s, and not %d", tr.queued(key), key, n)
}

// wanted is a lock that somebody waits for.
type wanted struct {
	lock *redlock.Lock
	err  error
	at   time.Time // when Lock returned
}

// want waits for a lock in a goroutine of its own.
func want(ctx context.Context, l *redlock.Locker, key string, opts ...redlock.LockOption) <-chan wanted {
	returned := make(chan wanted, 1)
	go func() {
		lock, err := l.Lock(ctx, key, opts...)
		returned <- wanted{lock, err, time.Now()}
	}()
	return returned
}

// A wait without a deadline ends as soon as the key is free, wherever it was held: the release tells the next, one after the other.
func TestWaitersElsewhereAreToldOfAReleaseInTheOrderInWhichTheyCame(t *testing.T) {
	needQueues(t)
	tr := begin(t)
	const waiters = 8
	opts := redlock.WithTTL(time.Minute)
	held := tr.lockAll(tr.open(), "k", opts)
	var waits []<-chan wanted
	for i := range waiters {
		waits = append(waits, want(t.Context(), tr.open(), "k", opts, longPoll))
		tr.awaitQueued("k", i+1)
	}
	for i, wait := range waits {
		mustBeInTime(t, 50*time.Millisecond, func() {
			require.NoError(t, held.Unlock(t.Context()))
			w := <-wait
			require.NoError(t, w.err, "waiter %d", i)
			held = w.lock
		})
		tr.awaitQueued("k", waiters-i-1)
	}
	require.NoError(t, held.Unlock(t.Context()))
}

// F65: the subscription is cut just before the release, so that nobody is told: the poll finds it out.
func TestAWaiterWhoseHintIsLostHasTheLockByThePoll(t *testing.T) {
	needQueues(t)
	tr := begin(t, testcluster.Config)
	l, other := tr.open(), tr.open()
	tr.warm(l)
	for range 5 {
		held := tr.lockAll(other, "k", redlock.WithTTL(time.Minute))
		wait := want(t.Context(), l, "k")
		tr.awaitQueued("k", 1)
		tr.deafen()
		mustBeInTime(t, 200*time.Millisecond, func() { // twice the poll's bound: the first may see the lock just going
			require.NoError(t, held.Unlock(t.Context()))
			w := <-wait
			require.NoError(t, w.err)
			held = w.lock
		})
		require.NoError(t, unlockAgain(t, held))
		tr.gone("k")
	}
}

// F63: several wait already when the holder is killed, and one has the lock when its TTL is over.
func TestOneOfThoseWhoWaitHasTheLockOfAKilledProcessWhenItsTTLIsOver(t *testing.T) {
	tr := begin(t)
	const waiters = 4
	holder := tr.child("holder")
	require.Equal(t, "held", holder.hear())
	tr.heldBy(5, "k")
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan wanted, waiters)
	var all errgroup.Group
	for range waiters {
		l := tr.open()
		all.Go(func() error {
			lock, err := l.Lock(ctx, "k")
			first <- wanted{lock, err, time.Now()}
			return nil
		})
	}
	require.NoError(t, holder.cmd.Process.Kill())
	require.Error(t, holder.end())
	mustBeInTime(t, tr.longest("k")+100*time.Millisecond, func() {
		w := <-first
		require.NoError(t, w.err)
		cancel()
		require.NoError(t, w.lock.Unlock(t.Context()))
	})
	require.NoError(t, all.Wait())
	for range waiters - 1 {
		if w := <-first; w.err == nil { // cancelled in the moment of success
			require.NoError(t, w.lock.Unlock(t.Context()))
		}
	}
}

// F60, F62: the wait ends with its context, neither with the TTL of who has the lock nor with a poll.
func TestAWaitInTheQueueEndsWithItsContext(t *testing.T) {
	needQueues(t)
	tr := begin(t)
	l := tr.open(longPoll, redlock.WithTTL(time.Minute))
	held := tr.lockAll(tr.open(), "k", redlock.WithTTL(time.Minute))
	start := time.Now()
	mustBeInTime(t, 1500*time.Millisecond, func() {
		_, err := l.Lock(endsIn(t, 1500*time.Millisecond), "k")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, redlock.ErrTaken)
	})
	require.GreaterOrEqual(t, time.Since(start), 1500*time.Millisecond)
	tr.awaitQueued("k", 0)

	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		behind := want(ctx, l, "k")
		tr.awaitQueued("k", 1)
		inLine := want(ctx, l, "k") // behind the other, in this process
		w := watchTimers()
		cancelled := time.Now()
		cancel()
		both := []wanted{<-behind, <-inLine}
		late := w.close()
		for _, got := range both {
			require.ErrorIs(t, got.err, context.Canceled)
			require.LessOrEqual(t, got.at.Sub(cancelled), 20*time.Millisecond+2*late)
		}
		tr.awaitQueued("k", 0)
	}
	require.NoError(t, held.Unlock(t.Context()))
}

// A waiter that gives up takes itself off; one that was named just then passes it on. What it asked for at that moment, and gives back,
// may cost the next one its try; then that is left to the poll.
func TestAHintToAWaiterThatGivesUpIsPassedOn(t *testing.T) {
	needQueues(t)
	tr := begin(t)
	const rounds, poll = 20, time.Second
	seldom, ttl := redlock.WithBackoff(poll, poll), redlock.WithTTL(time.Minute)
	first, second, holder := tr.open(seldom, ttl), tr.open(seldom, ttl), tr.open(ttl)
	byHint := 0
	for round := range rounds {
		held := tr.lockAll(holder, "k")
		ctx, cancel := context.WithCancel(t.Context())
		quits := want(ctx, first, "k")
		tr.awaitQueued("k", 1)
		stays := want(t.Context(), second, "k")
		tr.awaitQueued("k", 2)
		polled := time.Now().Add(poll) // not before that
		timer := time.AfterFunc(time.Duration(round)*50*time.Microsecond, cancel)
		require.NoError(t, held.Unlock(t.Context()))
		if w := <-quits; w.err == nil {
			require.NoError(t, unlockAgain(t, w.lock))
		}
		timer.Stop()
		cancel()
		mustBeInTime(t, 2*poll, func() {
			w := <-stays
			require.NoError(t, w.err)
			if w.at.Before(polled.Add(-poll / 2)) {
				byHint++
			}
			require.NoError(t, unlockAgain(t, w.lock))
		})
		tr.gone("k")
	}
	t.Logf("%d of %d were told", byHint, rounds)
	require.GreaterOrEqual(t, byHint, rounds-4)
}

func TestInspectSaysHowManyWait(t *testing.T) {
	needQueues(t)
	t.Parallel()
	tr := begin(t)
	l := tr.open(redlock.WithTTL(time.Minute))
	held := tr.lockAll(l, "k")
	at := tr.canary("k", tr.Addrs())
	ctx, cancel := context.WithCancel(t.Context())
	var waits []<-chan wanted
	for i := range 4 {
		seen, err := l.Inspect(t.Context(), "k")
		require.NoError(t, err)
		for _, n := range seen.Nodes {
			require.NoError(t, n.Err)
			want := 0
			if n.Index == at {
				want = i
			}
			require.Equal(t, want, n.Waits, "node %d, canary %d", n.Index, at)
		}
		other := tr.open(redlock.WithTTL(time.Minute))
		waits = append(waits, want(ctx, other, "k"), want(ctx, other, "k")) // a Locker waits once
		tr.awaitQueued("k", i+1)
	}
	cancel()
	for _, wait := range waits {
		require.ErrorIs(t, (<-wait).err, context.Canceled)
	}
	tr.awaitQueued("k", 0)
	require.NoError(t, held.Unlock(t.Context()))
}

// TryLock is one attempt, whatever it meets: no place in a queue, no subscription, no second question.
func TestTryLockNeverQueuesAndNeverWaits(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	tr.warm(l)
	tr.take("k", time.Minute, all...)
	tr.take("split", time.Minute, 0, 1, 2)
	sets, scripts, subscriptions := tr.sent("SET"), tr.sent("EVALSHA")+tr.sent("EVAL"), tr.sent("SUBSCRIBE")
	for _, key := range []string{"k", "split"} {
		for range 10 {
			_, err := l.TryLock(t.Context(), key)
			require.ErrorIs(t, err, redlock.ErrTaken)
		}
	}
	tr.gone("split")
	require.Equal(t, 2*10*5, tr.sent("SET")-sets)
	require.LessOrEqual(t, tr.sent("EVALSHA")+tr.sent("EVAL")-scripts, 2*10*5, "the undo, where it was not yet known that there is none")
	require.Equal(t, subscriptions, tr.sent("SUBSCRIBE"))
	for _, look := range tr.looks {
		n, err := look.Exists(t.Context(), tr.prefix+"~q:k", tr.prefix+"~q:split").Result()
		require.NoError(t, err)
		require.Zero(t, n, fmt.Sprint(tr.keys()))
	}
}
