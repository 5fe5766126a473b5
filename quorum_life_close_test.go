package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// F85. A service that is told to stop frees its hundred locks within its second, half of them under KeepAlive and some fenced
// or on several keys, whether two nodes hang or none does.
func TestCloseFreesAHundredLocksWithinASecond(t *testing.T) {
	t.Parallel()
	for name, hung := range map[string][]int{"all well": nil, "two nodes hang": {1, 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t, testcluster.Stop)
			l := tr.over(tr.onDefaults(), redlock.WithTTL(time.Minute), redlock.WithNodeTimeout(generous))
			tr.warm(l)
			locks, kept := tr.holdMany(l, 100)
			tr.each(hung, stop)
			var closed error
			mustBeInTime(t, time.Second, func() { closed = l.Close(endsIn(t, time.Second)) })
			alive := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return slices.Contains(hung, i) })
			require.Empty(t, tr.keys(alive...))
			if hung == nil {
				require.NoError(t, closed)
			} else {
				require.ErrorIs(t, closed, context.DeadlineExceeded, "it says that not everything was paid")
			}
			for i, lock := range locks {
				require.ErrorIs(t, lock.Err(), redlock.ErrUnlocked, "lock %d", i)
				require.ErrorIs(t, lock.Extend(t.Context()), redlock.ErrUnlocked)
			}
			for _, end := range kept {
				// It saw first that the lock was given back, or began after that, or saw first that the Locker was closed.
				if err := end(); err != nil && !errors.Is(err, redlock.ErrUnlocked) {
					require.ErrorIs(t, err, redlock.ErrClosed)
				}
			}
			_, err := l.TryLock(t.Context(), "late")
			require.ErrorIs(t, err, redlock.ErrClosed)
			tr.each(hung, cont)
			for _, i := range hung { // what was forgotten there ends with its TTL, and a test does not wait for that
				require.NoError(t, tr.looks[i].FlushDB(t.Context()).Err())
			}
		})
	}
}

// holdMany takes locks of every kind on all nodes, half of them under KeepAlive.
func (tr *trial) holdMany(l *redlock.Locker, n int) (locks []*redlock.Lock, kept []func() error) {
	tr.t.Helper()
	kinds := [][]redlock.LockOption{nil, {redlock.WithFencing()}, {redlock.WithLabel("a holder")}}
	var g errgroup.Group
	locks = make([]*redlock.Lock, n)
	for i := range locks {
		opts := kinds[i%len(kinds)]
		if i%10 == 0 {
			opts = []redlock.LockOption{redlock.WithKeys(fmt.Sprint("more", i))}
		}
		g.Go(func() (err error) {
			ctx, cancel := bounded()
			defer cancel()
			locks[i], err = l.Lock(ctx, fmt.Sprint("k", i), opts...)
			return err
		})
	}
	require.NoError(tr.t, g.Wait())
	for i, lock := range locks {
		tr.heldBy(5, lock.Key())
		if i%2 == 0 {
			kept = append(kept, keep(tr.t.Context(), lock))
		}
	}
	return locks, kept
}

// Close leaves alone what it is told to leave alone, and what was handed over.
func TestCloseLeavesLocksAloneThatAreNotItsToFree(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	ttl := redlock.WithTTL(time.Minute)
	stays := tr.open(ttl, redlock.WithoutReleaseOnClose())
	held := tr.lockAll(stays, "held")
	require.NoError(t, stays.Close(t.Context()))
	require.Len(t, tr.holders("held"), 5)
	require.NoError(t, held.Err(), "it is held still")

	giver := tr.open(ttl)
	token := tr.lockAll(giver, "given").Detach()
	require.NoError(t, giver.Close(t.Context()))
	require.Len(t, tr.holders("given"), 5)
	taker := tr.open(ttl)
	lock, err := taker.Resume(t.Context(), "given", token)
	require.NoError(t, err)
	require.NoError(t, lock.Unlock(t.Context()))
	tr.gone("given")
	tr.free("held") // nobody can give it back whose connections are closed
}

// A service that is told to stop has a context that has ended. Its clients are closed with the Locker, and not before what was
// held has left.
func TestCloseFreesWhatIsHeldThoughItsContextHasEnded(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		l, err := redlock.Open(tr.urls(false), redlock.WithPrefix(tr.prefix), redlock.WithNodeTimeout(generous))
		require.NoError(t, err)
		for i := range 10 {
			tr.lock(l, fmt.Sprint("held", i))
		}
		_ = l.Close(ended) // it cannot know how that went
		require.True(t, until(time.Second, func() bool { return len(tr.keys()) == 0 }), "left: %v", tr.keys())
	}
}
