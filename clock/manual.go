package clock

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Manual is a Clock that stands still until it is told to move. It is for tests
// that step time by hand. NewManual makes one.
type Manual struct {
	mu     sync.Mutex
	now    time.Duration  // guarded by mu
	wall   time.Time      // guarded by mu; what Wall says at now
	timers []*manualTimer // guarded by mu; in the order they were made
}

type manualTimer struct {
	due time.Duration
	f   func()
}

var _ Clock = (*Manual)(nil)

// NewManual returns a clock that stands at 0 and shows start on its wall clock.
func NewManual(start time.Time) *Manual { return &Manual{wall: start.Round(0)} }

// Now returns the sum of what the clock was advanced by.
func (m *Manual) Now() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Wall returns the time that the wall clock shows: it moves with Advance and
// StepWall.
func (m *Manual) Wall() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wall
}

// AfterFunc has f called by the Advance that reaches d from now. Where d is not
// above zero that is the next one, even an Advance(0).
func (m *Manual) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &manualTimer{due: m.in(max(d, 0)), f: f}
	m.timers = append(m.timers, t)
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.remove(t)
	}
}

// StepWall turns the wall clock by d, either way, as an administrator or a time
// server does. Now and the timers take no notice.
func (m *Manual) StepWall(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall = m.wall.Add(d)
}

// Advance moves the clock ahead by d and returns when all that fell due was
// called: one function after the other in the order of their times, those of the
// same time in the order they were set. While one runs, Now says the time it was
// set for; it may use the clock, and what it sets is called too if it falls due
// within d. The functions run in the caller's goroutine. Advance panics when d is
// negative.
func (m *Manual) Advance(d time.Duration) {
	if d < 0 {
		panic("clock: Advance by a negative duration")
	}
	m.mu.Lock()
	end := m.in(d)
	for t := m.next(end); t != nil; t = m.next(end) {
		m.remove(t)
		m.moveTo(t.due)
		m.mu.Unlock()
		t.f()
		m.mu.Lock()
	}
	m.moveTo(end)
	m.mu.Unlock()
}

// in returns the time d from now, or the last one there is. The caller holds mu.
func (m *Manual) in(d time.Duration) time.Duration {
	return m.now + min(d, math.MaxInt64-m.now)
}

// next returns the timer to call first of those that are due by end, or nil. The
// caller holds mu.
func (m *Manual) next(end time.Duration) *manualTimer {
	var first *manualTimer
	for _, t := range m.timers {
		if t.due <= end && (first == nil || t.due < first.due) {
			first = t
		}
	}
	return first
}

// moveTo moves the clock to now, unless another Advance took it further. The
// caller holds mu.
func (m *Manual) moveTo(now time.Duration) {
	if now > m.now {
		m.wall = m.wall.Add(now - m.now)
		m.now = now
	}
}

// remove takes a timer off the list and reports whether it was there. The caller
// holds mu.
func (m *Manual) remove(t *manualTimer) bool {
	i := slices.Index(m.timers, t)
	if i < 0 {
		return false
	}
	m.timers = slices.Delete(m.timers, i, i+1)
	return true
}
