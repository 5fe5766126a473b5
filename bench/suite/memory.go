package suite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/load"
)

const (
	holdTTL     = 10 * time.Minute // no lock runs out while the others are taken
	holdCallers = 256
	settle      = 2 * time.Second // for the answers and releases still under way after a call has returned
	settlePoll  = 10 * time.Millisecond
)

var errNotHeld = errors.New("suite: it was never held")

// memory measures the heap of idle Lockers, and of many locks held at once.
func (b *bench) memory(ctx context.Context) error {
	b.say("memory")
	m := &MemoryFigures{}
	if err := b.idle(m); err != nil {
		return err
	}
	if err := b.hold(ctx, m); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if err := b.counters(ctx, m); err != nil {
		return fmt.Errorf("memory: counters: %w", err)
	}
	b.results.Memory = m
	return nil
}

func (b *bench) idle(m *MemoryFigures) error {
	lockers := make(field, b.IdleLockers)
	addrs := b.nodes.Addrs()
	before := heap()
	for i := range lockers {
		var err error
		if lockers[i], err = contender.Library(addrs); err != nil {
			return err
		}
	}
	m.IdleLockerBytes = (heap() - before) / float64(len(lockers))
	lockers.close() // and keeps them reachable until here
	return nil
}

// hold takes many locks, weighs them while all are held, and gives them back.
func (b *bench) hold(ctx context.Context, m *MemoryFigures) error {
	library, err := contender.LibraryForHolding(b.nodes.Addrs(), holdTTL)
	if err != nil {
		return err
	}
	defer field{library}.close()
	if err := b.prepare(ctx, library); err != nil {
		return err
	}
	keys := b.keys(b.HeldLocks)
	held := make([]contender.Held, len(keys))
	before := heap()
	m.Held, m.AcquireSeconds = b.timeAll("acquired", len(keys), func(i int) (err error) {
		held[i], err = library.Acquire(ctx, keys[i])
		return err
	})
	if m.KeysHeld, err = b.keysReach(ctx, int64(len(keys)*b.results.Nodes)); err != nil {
		return err
	}
	m.HeldLockBytes = (heap() - before) / float64(max(m.Held, 1))
	m.Released, m.ReleaseSeconds = b.timeAll("released", len(keys), func(i int) error {
		if held[i] == nil {
			return errNotHeld
		}
		return held[i].Unlock(ctx)
	})
	m.KeysLeft, err = b.keysReach(ctx, 0)
	return err
}

// prepare empties the nodes and lets the library dial its connections and grow its
// tables, so that they are part of the base line.
func (b *bench) prepare(ctx context.Context, library contender.Contender) error {
	if err := b.onEach(func(c *redis.Client) error { return c.FlushAll(ctx).Err() }); err != nil {
		return err
	}
	var warm load.Sample
	if err := load.Run(ctx, library, b.keys(holdCallers), b.Busy, &warm); err != nil {
		return err
	}
	left, err := b.keysReach(ctx, 0)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d keys are left before anything is held", left)
	}
	return err
}

// timeAll is forAll with its time, in seconds; a failure is said and no end.
func (b *bench) timeAll(done string, n int, do func(i int) error) (int, float64) {
	start := time.Now()
	count, err := forAll(n, do)
	if err != nil {
		b.say("%s %d of %d, the first failure: %v", done, count, n, err)
	}
	return count, time.Since(start).Seconds()
}

// forAll calls do for 0..n-1 from several goroutines and returns how many succeeded,
// and the first error.
func forAll(n int, do func(i int) error) (int, error) {
	var (
		next, done atomic.Int64
		once       sync.Once
		first      error
		callers    sync.WaitGroup
	)
	for range min(holdCallers, n) {
		callers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					once.Do(func() { first = err })
					continue
				}
				done.Add(1)
			}
		})
	}
	callers.Wait()
	return int(done.Load()), first
}

// keysReach waits until the nodes together have want keys, for a moment at most,
// and returns how many they have then.
func (b *bench) keysReach(ctx context.Context, want int64) (int64, error) {
	for end := time.Now().Add(settle); ; time.Sleep(settlePoll) {
		var keys int64
		err := b.onEach(func(c *redis.Client) error {
			n, err := c.DBSize(ctx).Result()
			keys += n
			return err
		})
		if err != nil || keys == want || time.Now().After(end) {
			return keys, err
		}
	}
}

func (b *bench) onEach(do func(*redis.Client) error) error {
	var errs []error
	for _, addr := range b.nodes.Addrs() {
		client := redis.NewClient(&redis.Options{Addr: addr})
		errs = append(errs, do(client), client.Close())
	}
	return errors.Join(errs...)
}

// heap is the bytes that are reachable now.
func heap() float64 {
	runtime.GC() // twice: what a finalizer or a pool held goes in the second
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
