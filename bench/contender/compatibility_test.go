package contender_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/bench/servers"
	"github.com/quorumlock/go-redlock/redlock"
)

// pair is the two libraries on the same masters, as a service has them that moves from one to the other.
type pair struct {
	t    *testing.T
	ours *redlock.Locker
	peer *redsync.Redsync

	inside   atomic.Int64
	overlaps atomic.Int64
}

func newPair(t *testing.T) *pair {
	t.Helper()
	masters, err := servers.Start(t.Context(), 5)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, masters.Close()) })
	var urls []string
	var pools []redsyncredis.Pool
	for _, addr := range masters.Addrs() {
		urls = append(urls, "redis://"+addr)
		client := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = client.Close() })
		pools = append(pools, goredis.NewPool(client))
	}
	ours, err := redlock.Open(urls, redlock.WithNodeTimeout(time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { _ = ours.Close(context.Background()) })
	return &pair{t: t, ours: ours, peer: redsync.New(pools...)}
}

// enter begins what only one may be in; what it returns ends it.
func (p *pair) enter() (leave func()) {
	if p.inside.Add(1) > 1 {
		p.overlaps.Add(1)
	}
	return func() { p.inside.Add(-1) }
}

// alone holds that nobody overlapped.
func (p *pair) alone() {
	p.t.Helper()
	require.Zero(p.t, p.overlaps.Load(), "overlaps")
}

// mutex is redsync's, which tries for as long as its context lives.
func (p *pair) mutex(key string, expiry time.Duration) *redsync.Mutex {
	return p.peer.NewMutex(key, redsync.WithExpiry(expiry), redsync.WithTries(1_000_000))
}

// One holds, the other waits and has it as soon as it is given back; in both orders.
func TestRedsyncAndThisLibraryWaitForEachOther(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	const key, ttl, rounds = "moved", 10 * time.Second, 10
	for range rounds {
		lock, err := p.ours.TryLock(t.Context(), key, redlock.WithTTL(ttl))
		require.NoError(t, err)
		leave := p.enter()
		require.Error(t, p.mutex(key, ttl).TryLockContext(t.Context()))
		mutex := p.mutex(key, ttl)
		var g errgroup.Group
		g.Go(func() error { return mutex.LockContext(t.Context()) })
		time.Sleep(50 * time.Millisecond) // for it to try
		leave()
		require.NoError(t, lock.Unlock(t.Context()))
		require.NoError(t, g.Wait())

		leave = p.enter()
		_, err = p.ours.TryLock(t.Context(), key, redlock.WithTTL(ttl))
		require.ErrorIs(t, err, redlock.ErrTaken)
		g.Go(func() (err error) {
			lock, err = p.ours.Lock(t.Context(), key, redlock.WithTTL(ttl))
			return err
		})
		time.Sleep(50 * time.Millisecond)
		leave()
		ok, err := mutex.UnlockContext(t.Context())
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, g.Wait())
		leave = p.enter()
		leave()
		require.NoError(t, lock.Unlock(t.Context()))
	}
	p.alone()
}

// Callers of both contend for one key.
func TestRedsyncAndThisLibraryExcludeEachOther(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	const key, ttl, callers, hold = "shared", 10 * time.Second, 4, time.Millisecond
	var had [2]atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	g, _ := errgroup.WithContext(ctx)
	for range callers {
		g.Go(func() error {
			for ctx.Err() == nil {
				lock, err := p.ours.Lock(ctx, key, redlock.WithTTL(ttl))
				if err != nil {
					continue
				}
				p.hold(hold)
				had[0].Add(1)
				if err := lock.Unlock(ctx); err != nil {
					return err
				}
				time.Sleep(5 * hold) // lest who just had it has it again
			}
			return nil
		})
		g.Go(func() error {
			for ctx.Err() == nil {
				mutex := p.mutex(key, ttl)
				if err := mutex.LockContext(ctx); err != nil {
					continue
				}
				p.hold(hold)
				had[1].Add(1)
				if _, err := mutex.UnlockContext(context.WithoutCancel(ctx)); err != nil {
					return err
				}
				time.Sleep(5 * hold)
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	t.Logf("this library had it %d times, redsync %d times, overlaps: %d", had[0].Load(), had[1].Load(), p.overlaps.Load())
	require.Positive(t, had[0].Load())
	require.Positive(t, had[1].Load())
	p.alone()
}

func (p *pair) hold(d time.Duration) {
	leave := p.enter()
	time.Sleep(d)
	leave()
}

// A lock that is renewed past its TTL, by either, keeps the other out for as long.
func TestRedsyncAndThisLibraryRespectEachOthersRenewal(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	const key, ttl, terms = "renewed", 1500 * time.Millisecond, 2
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var g errgroup.Group

	lock, err := p.ours.TryLock(ctx, key, redlock.WithTTL(ttl))
	require.NoError(t, err)
	mutex := p.mutex(key, ttl)
	g.Go(func() error {
		defer p.hold(time.Millisecond)
		return mutex.LockContext(ctx)
	})
	leave := p.enter()
	kept, stop := context.WithTimeout(ctx, terms*ttl)
	defer stop()
	require.ErrorIs(t, lock.KeepAlive(kept), context.DeadlineExceeded)
	require.NoError(t, lock.Extend(ctx))
	leave()
	require.NoError(t, lock.Unlock(ctx))
	require.NoError(t, g.Wait())

	leave = p.enter()
	g.Go(func() (err error) {
		defer p.hold(time.Millisecond)
		lock, err = p.ours.Lock(ctx, key, redlock.WithTTL(ttl))
		return err
	})
	for range 3 * terms {
		time.Sleep(ttl / 3)
		ok, err := mutex.ExtendContext(ctx)
		require.NoError(t, err)
		require.True(t, ok)
	}
	leave()
	ok, err := mutex.UnlockContext(ctx)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, g.Wait())
	require.NoError(t, lock.Unlock(ctx))
	p.alone()
}
