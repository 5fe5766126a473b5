package clock

import (
	"math"
	"time"
)

const (
	// slack is what the wall clock may seem to move against the monotonic clock
	// without meaning anything. The two are read one after the other, so that a
	// step of some 20 ns is seen at every reading; to count each that goes forward
	// would make a clock that is read often run fast, by one sixth in a busy loop.
	slack = time.Millisecond

	// maxJump bounds what one step of the wall clock can count for. It is longer
	// than any lock lasts, so that it ends every lock as surely as the full step.
	maxJump = 10 * 366 * 24 * time.Hour
)

// accumulator adds up the time that passes between readings of two clocks that
// are each wrong in their way: a monotonic one that stands still while the host
// is suspended, and the wall clock, which anybody may turn. Between two readings
// it takes the larger of the two steps, and never a negative one. So its total
// never falls and is never slower than the monotonic clock; suspended time
// counts; and a wall clock that is put forward counts as time that has passed,
// once, and gives nothing back when it is put right.
//
// The larger of the two totals would not do: it falls when the wall clock is put
// back, or stands still until the monotonic clock has caught up.
type accumulator struct {
	ahead time.Duration // of the total before the monotonic clock; never falls
	gap   time.Duration // of the wall clock before the monotonic clock, when it last moved
}

// moved reports whether the wall clock made a step of its own since the gap was
// last noted. The difference wraps, where no date makes sense, and means nothing.
func moved(gap, noted time.Duration) bool {
	d := gap - noted
	return d > slack || d < -slack
}

// advance takes a reading of both clocks, made at one instant and after the
// previous one, and returns the total.
func (a *accumulator) advance(mono, wall time.Duration) time.Duration {
	if gap := wall - mono; moved(gap, a.gap) {
		a.raise(a.ahead + min(gap-a.gap, maxJump))
		a.gap = gap
	}
	return mono + a.ahead
}

// raise moves the total to ahead before the monotonic clock, unless it is there
// or further already, and leaves half the range of a Duration for the monotonic clock itself.
func (a *accumulator) raise(ahead time.Duration) {
	a.ahead = max(a.ahead, min(ahead, math.MaxInt64/2))
}
