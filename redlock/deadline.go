package redlock

import (
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/clock"
)

// after returns a channel that is closed once d has passed. stop lets go of it earlier.
func (c *core) after(d time.Duration) (over <-chan struct{}, stop func() bool) {
	end := make(chan struct{})
	return end, c.clock.AfterFunc(d, func() { close(end) })
}

// deadlines end waits that all last equally long, with one timer for all of them. A timer for each would be a goroutine for
// each, for a moment, when a node hangs and the waits of all callers end together.
type deadlines struct {
	clock clock.Clock
	wait  time.Duration

	mu         sync.Mutex // protects what follows, and what is in the list
	head, tail *deadline  // by the time they end, the earliest first
	armed      bool       // the timer is set, for no later than the head's end
}

// deadline is the end of one wait. The zero value is ready for one use.
type deadline struct {
	at         time.Duration
	of         waiting // nil while it is on no list
	prev, next *deadline
}

// waiting is what a deadline ends. endTime must not block, and not touch the deadlines.
type waiting interface{ endTime() }

// add has w's endTime called once the wait is over, counted from now, unless the deadline is removed before.
func (s *deadlines) add(d *deadline, now time.Duration, w waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.at, d.of = now+s.wait, w
	after := s.tail
	for after != nil && after.at > d.at { // seldom more than one: who read the clock earlier may come later
		after = after.prev
	}
	s.link(d, after)
	s.arm(now)
}

// remove takes the deadline off. After it nothing is called.
func (s *deadlines) remove(d *deadline) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.of != nil {
		s.unlink(d)
	}
}

// arm sets the timer where one is needed and none is set. One that rings for a deadline since removed sets the next.
func (s *deadlines) arm(now time.Duration) {
	if s.head != nil && !s.armed {
		s.armed = true
		s.clock.AfterFunc(max(s.head.at-now, 0), s.ring)
	}
}

// ring ends every wait that is over.
func (s *deadlines) ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	now := s.clock.Now()
	for s.head != nil && s.head.at <= now {
		w := s.head.of
		s.unlink(s.head)
		w.endTime()
	}
	s.arm(now)
}

func (s *deadlines) link(d, after *deadline) {
	d.prev = after
	if after == nil {
		d.next, s.head = s.head, d
	} else {
		d.next, after.next = after.next, d
	}
	if d.next == nil {
		s.tail = d
	} else {
		d.next.prev = d
	}
}

func (s *deadlines) unlink(d *deadline) {
	if d.prev == nil {
		s.head = d.next
	} else {
		d.prev.next = d.next
	}
	if d.next == nil {
		s.tail = d.prev
	} else {
		d.next.prev = d.prev
	}
	d.prev, d.next, d.of = nil, nil, nil
}
