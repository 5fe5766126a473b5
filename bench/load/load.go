// Package load drives one contender with a number of callers and says what it saw.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/stat"
)

// goroutineSample is how often the goroutines are counted inside a window: often
// enough to see a burst, seldom enough to cost nothing.
const goroutineSample = 5 * time.Millisecond

// patience is how much longer than its time a window stays open for the first cycle
// to be completed: many callers of a slow contender may all still be in theirs.
const patience = 10 * time.Second

// ErrNoCycle says that a window passed, and the patience, without one complete cycle.
var ErrNoCycle = errors.New("load: no cycle was completed")

// Window is one slice of measuring. Warm passes twice before it: once to make the
// connections, with callers that are done with before anything is read, and once with
// the callers that are measured, so that they no longer all start at one instant.
type Window struct {
	Warm    time.Duration
	Measure time.Duration
}

// Sample is what one or more windows saw. A cycle is an acquire and its release; a
// cycle in which either failed is a failure and nothing else.
type Sample struct {
	Acquire, Release stat.Histogram // of cycles that ended in the window or were under way at its end
	Cycles           uint64         // completed within Elapsed
	Elapsed          time.Duration  // what was measured: longer than asked for only until a first cycle
	Attempts         uint64         // cycles and failures that Mallocs and CPU are for
	Mallocs          uint64         // of this process
	CPU              time.Duration  // of this process, user and system
	Goroutines       int            // most seen at once in this process
	Failures         uint64         // at any time, also while warming up
	FirstFailure     error
}

// Run lets one caller for each key cycle through acquire and release on it, and adds
// what it saw to sample. It returns when the last caller has. The callers' contexts
// cannot end (one shared context that can would itself be a point of contention in
// some contenders): when ctx ends, the callers stop after the cycle they are in.
func Run(ctx context.Context, c contender.Contender, keys []string, w Window, sample *Sample) error {
	var warm Sample
	err := work(ctx, c, keys, Window{Measure: w.Warm}, &warm)
	sample.Failures += warm.Failures
	sample.FirstFailure = cmp.Or(sample.FirstFailure, warm.FirstFailure)
	if err == nil {
		err = measure(ctx, c, keys, w, sample)
	}
	if errors.Is(err, ErrNoCycle) {
		err = errors.Join(fmt.Errorf("%w by %s with %d callers", err, c.Name(), len(keys)), sample.FirstFailure)
	}
	return err
}

// measure is work with its cost. Nothing runs before the first reading nor after the
// second, so that both are of the same cycles.
func measure(ctx context.Context, c contender.Contender, keys []string, w Window, sample *Sample) error {
	runtime.GC()
	before, err := readUsage()
	if err != nil {
		return err
	}
	if err := work(ctx, c, keys, w, sample); err != nil {
		return err
	}
	after, err := readUsage()
	sample.Mallocs += after.mallocs - before.mallocs
	sample.CPU += after.cpu - before.cpu
	return err
}

// crew is what the callers of one window share.
type crew struct {
	contender contender.Contender
	sample    *Sample
	recording atomic.Bool
	stop      atomic.Bool
	cycles    atomic.Uint64
	failures  atomic.Uint64
	failOnce  sync.Once
}

// work runs the callers through the window and adds what they did to the sample.
func work(ctx context.Context, c contender.Contender, keys []string, w Window, sample *Sample) error {
	cr := &crew{contender: c, sample: sample}
	detached := context.WithoutCancel(ctx)
	var callers sync.WaitGroup
	for _, key := range keys {
		callers.Go(func() { cr.cycle(detached, key) })
	}
	err := cr.window(ctx, w)
	cr.stop.Store(true)
	callers.Wait()
	sample.Attempts += cr.cycles.Load() + cr.failures.Load()
	sample.Failures += cr.failures.Load()
	return err
}

// window waits until it is over. It counts cycles between two instants at which the
// callers are in the middle of theirs: what some began before it makes up for what
// others end after it, so that slow cycles are not counted short.
func (cr *crew) window(ctx context.Context, w Window) error {
	if err := cr.watch(ctx, w.Warm, func() bool { return true }); err != nil {
		return err
	}
	before, start := cr.cycles.Load(), time.Now()
	cr.recording.Store(true)
	err := cr.watch(ctx, w.Measure, func() bool { return cr.cycles.Load() > before })
	cycles := cr.cycles.Load() - before
	cr.sample.Cycles += cycles
	cr.sample.Elapsed += time.Since(start)
	if err == nil && cycles == 0 {
		return ErrNoCycle
	}
	return err
}

// watch counts goroutines until d has passed and enough says so, or patience ends.
func (cr *crew) watch(ctx context.Context, d time.Duration, enough func() bool) error {
	ticker := time.NewTicker(goroutineSample)
	defer ticker.Stop()
	for start := time.Now(); ; {
		passed := time.Since(start)
		if passed >= d && enough() || passed >= d+patience {
			return nil
		}
		cr.sample.Goroutines = max(cr.sample.Goroutines, runtime.NumGoroutine())
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// cycle is one caller. It allocates nothing of its own, so that the allocations
// counted are the contender's.
func (cr *crew) cycle(ctx context.Context, key string) {
	for !cr.stop.Load() {
		start := time.Now()
		held, err := cr.contender.Acquire(ctx, key)
		acquired := time.Now()
		if err != nil {
			cr.fail(err)
			continue
		}
		err = held.Unlock(ctx)
		released := time.Now()
		if err != nil {
			cr.fail(err)
			continue
		}
		cr.cycles.Add(1)
		if cr.recording.Load() {
			cr.sample.Acquire.Record(acquired.Sub(start))
			cr.sample.Release.Record(released.Sub(acquired))
		}
	}
}

func (cr *crew) fail(err error) {
	cr.failures.Add(1)
	cr.failOnce.Do(func() { cr.sample.FirstFailure = cmp.Or(cr.sample.FirstFailure, err) })
}
