// Package clock tells a lock the time.
//
// A lock must know how much of its TTL has passed even if the host slept
// meanwhile, and even if somebody turned the wall clock; the clocks of package
// time each miss one of the two. System is the clock to use. Monotonic and
// Manual are for tests: the first runs on package time and so on the virtual
// time of a testing/synctest bubble, the second moves when it is told to.
//
// Every Clock of this package may be used by several goroutines at once.
package clock

import "time"

// Clock is what a lock reads the time from. An implementation must allow calls
// from several goroutines at once.
type Clock interface {
	// Now returns the time since an origin of the clock's own choosing. It never
	// falls, whatever is done to the wall clock. Whether it counts the time that
	// the host was suspended is for the implementation to say; a lock whose clock
	// does not is trusted for too long by as much. Readings of two clocks cannot
	// be compared.
	Now() time.Duration

	// Wall returns the wall clock's time, for people and for other hosts. It may
	// jump either way, and it carries no monotonic reading: differences of two of
	// them say nothing about the time that has passed.
	Wall() time.Time

	// AfterFunc calls f once d has passed, and returns at once. d may be counted
	// without the time that the host was suspended, so f should look at Now. stop
	// reports whether it kept f from being called; false means that f was called,
	// or is about to be, or was stopped before. stop does not wait for f.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// System returns the clock of this process. Its Now counts the time that the
// host was suspended: on Linux as the kernel's CLOCK_BOOTTIME does; elsewhere,
// and where a sandbox withholds that, by adding up what passed from one reading
// to the next by the monotonic or by the wall clock, whichever says more. So
// there a wall clock that is put forward makes a lock end early, never late.
// Every call returns the same clock. Now does not allocate. In a testing/synctest
// bubble it stands still.
//
// AfterFunc runs f in a goroutine of its own, on a timer of package time, which
// stands still while the host is suspended.
func System() Clock { return system }

// Made before any bubble can be, where the monotonic clock cannot be read.
var system = newSystem(packageTime(), boottime)

// Monotonic returns a new clock that uses package time alone, with its origin at
// the time of the call. Made and used in a testing/synctest bubble it runs on the
// bubble's time. Outside it stands still while a Linux or macOS host is
// suspended, so it is no clock for a lock in production.
//
// AfterFunc runs f in a goroutine of its own.
func Monotonic() Clock { return &monotonic{origin: time.Now()} }

// wallAndTimers is what all clocks on real time share.
type wallAndTimers struct{}

func (wallAndTimers) Wall() time.Time { return time.Now().Round(0) }

func (wallAndTimers) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}

type monotonic struct {
	wallAndTimers
	origin time.Time
}

func (m *monotonic) Now() time.Duration { return time.Since(m.origin) }
