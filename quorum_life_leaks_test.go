package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

const (
	lifeCallers = 8
	lifeCycles  = 600 // a caller, in each of the two runs
)

// life is one way in which a lock begins, is kept, and ends, well or badly.
type life func(ctx context.Context, nodes *nodes, l *redlock.Locker, key string) error

// nodes can be made to forget.
type nodes struct {
	prefix  string
	clients []*redis.Client
}

func (n *nodes) forget(ctx context.Context, key string) error {
	var errs []error
	for _, c := range n.clients {
		errs = append(errs, c.Del(ctx, n.prefix+key).Err())
	}
	return errors.Join(errs...)
}

var lives = []life{livesRenewed, livesFenced, livesLeft, livesHandedOver, livesTaken, livesCancelled, livesLost}

func livesRenewed(ctx context.Context, _ *nodes, l *redlock.Locker, key string) error {
	lock, err := l.Lock(ctx, key)
	if err != nil {
		return err
	}
	held, cancel := lock.Context(ctx)
	defer cancel()
	kept := keep(ctx, lock)
	err = errors.Join(lock.Extend(ctx), lock.Unlock(ctx))
	<-held.Done()
	<-lock.Done()
	if end := kept(); !errors.Is(end, redlock.ErrUnlocked) { // it came too late for KeepAlive to begin
		err = errors.Join(err, end)
	}
	return err
}

func livesFenced(ctx context.Context, _ *nodes, l *redlock.Locker, key string) error {
	return l.With(redlock.WithFencing()).Do(ctx, key, func(ctx context.Context, lock *redlock.Lock) error { return lock.Extend(ctx) })
}

func livesLeft(ctx context.Context, _ *nodes, l *redlock.Locker, key string) error {
	lock, err := l.Lock(ctx, key, redlock.WithKeys(key+"+"))
	if err != nil {
		return err
	}
	return lock.Leave(ctx, time.Millisecond)
}

func livesHandedOver(ctx context.Context, _ *nodes, l *redlock.Locker, key string) error {
	lock, err := l.Lock(ctx, key)
	if err != nil {
		return err
	}
	lock.Done() // it is watched
	lock, err = l.Resume(ctx, key, lock.Detach())
	if err != nil {
		return err
	}
	return lock.Unlock(ctx)
}

func livesTaken(ctx context.Context, _ *nodes, l *redlock.Locker, key string) error {
	lock, err := l.Lock(ctx, key)
	if err != nil {
		return err
	}
	if _, err := l.TryLock(ctx, key); !errors.Is(err, redlock.ErrTaken) {
		return fmt.Errorf("a second lock: %w", err)
	}
	return lock.Unlock(ctx)
}

func livesCancelled(ctx context.Context, _ *nodes, l *redlock.Locker, key string) error {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Microsecond)
	defer cancel()
	lock, err := l.Lock(ctx, key)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return err
	}
	defer lock.Done()
	if err := lock.KeepAlive(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("a KeepAlive that is cancelled: %w", err)
	}
	return lock.Unlock(ctx)
}

// livesLost is told of the loss, and gives nothing back.
func livesLost(ctx context.Context, n *nodes, l *redlock.Locker, key string) error {
	lock, err := l.Lock(ctx, key)
	if err != nil {
		return err
	}
	held, cancel := lock.Context(ctx)
	defer cancel()
	kept := keep(ctx, lock)
	for lock.Err() == nil { // the nodes that were not asked yet follow
		if err := n.forget(ctx, key); err != nil {
			return err
		}
		_ = lock.Extend(ctx) // or KeepAlive's own finds out
	}
	<-held.Done()
	if err := kept(); !errors.Is(err, redlock.ErrLost) {
		return fmt.Errorf("KeepAlive of a lost lock: %w", err)
	}
	if err := lock.Unlock(ctx); !errors.Is(err, redlock.ErrLost) {
		return fmt.Errorf("Unlock of a lost lock: %w", err)
	}
	return nil
}

// live lets callers go through all the lives again and again, on Lockers that are closed in the end.
func (tr *trial) live() {
	tr.t.Helper()
	n := &nodes{prefix: tr.prefix}
	for _, node := range tr.Nodes {
		n.clients = append(n.clients, redis.NewClient(&redis.Options{Addr: node.Direct()}))
	}
	cycles := lifeCycles
	if tr.Backend == testcluster.Embedded {
		cycles /= 10 // these interpret every script
	}
	var g errgroup.Group
	for caller := range lifeCallers {
		l := tr.openAt(tr.urls(true), redlock.WithTTL(10*time.Second))
		g.Go(func() error {
			for i := range cycles {
				ctx, cancel := bounded()
				err := lives[(i+caller)%len(lives)](ctx, n, l, fmt.Sprintf("k%d-%d", caller, i))
				cancel()
				if err != nil {
					return fmt.Errorf("cycle %d, life %d: %w", i, (i+caller)%len(lives), err)
				}
			}
			ctx, cancel := bounded()
			defer cancel()
			return l.Close(ctx)
		})
	}
	err := g.Wait()
	for _, c := range n.clients {
		err = errors.Join(err, c.Close())
	}
	require.NoError(tr.t, err)
	tr.lockers = nil
}

// descriptors is how many files this process has open, where that can be seen.
func descriptors() int {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(open)
}

// F29. Not parallel, since it counts the goroutines and the open files of the process.
func TestGoroutinesAndFilesComeBackAfterEveryLifeOfALock(t *testing.T) {
	tr := begin(t)
	tr.live() // what is made once stays
	goroutines, files := goroutineCount(), descriptors()
	tr.live()
	require.True(t, until(10*time.Second, func() bool { return goroutineCount() <= goroutines }),
		"%d goroutines and not %d", goroutineCount(), goroutines)
	require.True(t, until(10*time.Second, func() bool { return descriptors() <= files }),
		"%d open files and not %d", descriptors(), files)
}
