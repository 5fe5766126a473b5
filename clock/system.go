package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// checkEvery is how much monotonic time may pass until the kernel is asked again,
// whatever the wall clock says.
const checkEvery = 100 * time.Millisecond

// systemClock is a monotonic clock and what it must be put ahead by.
//
// The kernel's clock that counts suspend costs a system call, 0.2 to 4 µs, where
// the two clocks of package time cost 0.05 µs together. So it is asked only when
// it can have news: when the wall clock moved against the monotonic clock, as it
// does by the length of every suspend, and every 100 ms besides, for a suspend
// that somebody made up for by putting the wall clock back just as far.
type systemClock struct {
	wallAndTimers
	read func() (mono, wall time.Duration) // both clocks of package time, each since an origin of its own
	boot func() (_ time.Duration, ok bool) // the kernel's clock; nil where there is none

	// What acc and the last check say, for readers that take no lock. ahead is
	// stored first and loaded last: who sees that a step was noted counts it, too.
	ahead, gap, checked atomic.Int64

	mu  sync.Mutex
	acc accumulator // guarded by mu
}

// packageTime returns a function that reads both clocks of package time, the
// monotonic one from now on. In a bubble, which has no monotonic clock and starts
// in the past, mono is negative.
func packageTime() func() (mono, wall time.Duration) {
	origin := time.Now()
	return func() (mono, wall time.Duration) {
		now := time.Now()
		return now.Sub(origin), time.Duration(now.UnixNano())
	}
}

// newSystem returns a clock that counts suspend by boot or, if that fails, by the
// wall clock.
func newSystem(read func() (mono, wall time.Duration), boot func() (time.Duration, bool)) *systemClock {
	c := &systemClock{read: read}
	mono, wall := read()
	c.acc.gap = wall - mono
	if _, ok := boot(); ok {
		c.boot = boot
	}
	c.checked.Store(int64(mono - checkEvery - 1))
	c.check()
	return c
}

func (c *systemClock) Now() time.Duration {
	mono, wall := c.read()
	if mono < 0 { // in a bubble
		return time.Duration(c.checked.Load() + c.ahead.Load())
	}
	if c.stale(mono, wall) {
		return c.check()
	}
	return mono + time.Duration(c.ahead.Load())
}

// stale reports whether the kernel may have news at this reading.
func (c *systemClock) stale(mono, wall time.Duration) bool {
	return moved(wall-mono, time.Duration(c.gap.Load())) ||
		mono-time.Duration(c.checked.Load()) > checkEvery
}

// check counts what the monotonic clock has missed, and returns the time.
func (c *systemClock) check() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, wall := c.settled()
	if !c.stale(before, wall) {
		// Another goroutine was here, or the reading that led here was a bad one.
		return before + c.acc.ahead
	}
	now := before
	if boot, ok := c.askKernel(); ok {
		now, _ = c.read()
		c.acc.gap = wall - before
		// The truth lies between boot − now and boot − before. What is known to be
		// missing is made up for in full, or a reading would be short of it.
		if boot-now > c.acc.ahead {
			c.acc.raise(boot - before)
		}
	} else {
		c.acc.advance(before, wall)
	}
	c.ahead.Store(int64(c.acc.ahead))
	c.gap.Store(int64(c.acc.gap))
	c.checked.Store(int64(now))
	return now + c.acc.ahead
}

// askKernel returns the time of the kernel's clock. Even one that answered at
// first may refuse to: a filter of system calls can be installed later.
func (c *systemClock) askKernel() (time.Duration, bool) {
	if c.boot == nil {
		return 0, false
	}
	return c.boot()
}

// settled returns a reading of both clocks that a second one confirms. A thread
// that loses the processor between the two clocks sees the wall clock where it
// was some milliseconds ago; counted, that would be time gained at each such
// turn. A host too busy for two good readings in ten gains it all the same.
func (c *systemClock) settled() (mono, wall time.Duration) {
	mono, wall = c.read()
	for range 10 {
		gap := wall - mono
		if mono, wall = c.read(); !moved(wall-mono, gap) {
			break
		}
	}
	return mono, wall
}
