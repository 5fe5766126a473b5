package redlock

import (
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/clock"
)

// wheel wakes those who renew locks: all that are due in the same slot by one timer, so that they leave in one pipeline.
type wheel struct {
	clock clock.Clock

	mu    sync.Mutex // protects what follows
	slots map[time.Duration]*slot
}

// slot is those who wait for one moment.
type slot struct {
	wake    chan struct{} // closed then
	waiting int
	stop    func() bool
}

// wait returns a channel that is closed at a time of the clock, and what must be called when it is no longer waited for.
func (w *wheel) wait(at time.Duration) (wake <-chan struct{}, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.slots[at]
	if s == nil {
		if w.slots == nil {
			w.slots = make(map[time.Duration]*slot)
		}
		s = &slot{wake: make(chan struct{})}
		s.stop = w.clock.AfterFunc(max(at-w.clock.Now(), 0), func() { w.ring(at, s) })
		w.slots[at] = s
	}
	s.waiting++
	return s.wake, func() { w.leave(at, s) }
}

func (w *wheel) ring(at time.Duration, s *slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slots[at] == s {
		delete(w.slots, at)
		close(s.wake)
	}
}

// look wakes those whose moment has come although their timer has not rung, since it stood still while the system was
// suspended. Who renews a lock watches it, too, and so somebody looks.
func (w *wheel) look(now time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, s := range w.slots {
		if at <= now {
			delete(w.slots, at)
			s.stop()
			close(s.wake)
		}
	}
}

func (w *wheel) leave(at time.Duration, s *slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.waiting--
	if s.waiting == 0 && w.slots[at] == s {
		delete(w.slots, at)
		s.stop()
	}
}
