package redlock

import (
	"sync"
	"time"
)

// lines are the callers of Lock in this process, a line for each key, first in, first out. Only the head of a line contends
// for its key, so the cost at the nodes does not grow with the callers.
type lines struct {
	mu     sync.Mutex
	byKey  map[string]*line
	handed map[string]handOver // of keys released here lately
}

type line struct {
	key        string
	head, tail *waiter
	until      time.Duration // the end of the lock that who left the line last has, until it is given back; 0 for none
}

// waiter is one caller's place in a line.
type waiter struct {
	line       *line
	prev, next *waiter
	freed      bool // the key was released here since the waiter last asked
	// wake says that it may be worth looking again: the waiter became the head, or the key was released in this process.
	// It holds one notice, which is enough: whoever looks sees everything that happened before.
	wake chan struct{}
}

// join appends the caller to the key's line.
func (q *lines) join(key string) *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.byKey[key]
	if l == nil {
		if q.byKey == nil {
			q.byKey = make(map[string]*line)
		}
		l = &line{key: key}
		q.byKey[key] = l
	}
	w := &waiter{line: l, prev: l.tail, wake: make(chan struct{}, 1)}
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
	return w
}

// leave takes the caller off, wherever it stands, and tells who becomes the head by it. until is the end of the lock that it has by now.
func (q *lines) leave(w *waiter, until time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := w.line
	l.until = max(l.until, until)
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	switch {
	case l.head == nil:
		delete(q.byKey, l.key)
	case w.prev == nil:
		l.head.notify()
	}
}

// heldHere tells whether the head of a line need not ask, since a caller of the same line has the lock.
func (q *lines) heldHere(w *waiter, now time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return now < w.line.until
}

func (q *lines) heads(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return w.line.head == w
}

// hint tells the head of the key's line that the key was released here.
func (q *lines) hint(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.byKey[key]; l != nil {
		l.until = 0
		l.head.freed = true
		l.head.notify()
	}
}

// freed tells whether the key was released here since the waiter last asked for that.
func (q *lines) freed(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	freed := w.freed
	w.freed = false
	return freed
}

// handOver is what is known of who comes next for a key that was released here. Keys that nobody waits for have none: where one
// client alone takes a lock again and again, it must not wait for the canary's answer each time.
type handOver struct {
	until time.Duration // when that was too long ago to matter
	open  int           // how many canaries have not answered yet
	named bool          // somebody in another process comes next
	hot   time.Duration // until when others are taken to wait for the key
}

// handing notes that the key is being released here, and that canaries will tell who comes next; contended says that others wait.
func (q *lines) handing(key string, canaries int, contended bool, now time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.byKey[key]; l != nil {
		l.until = 0
	}
	h := q.handed[key]
	if contended {
		h.hot = now + hotFor
	}
	if h.hot <= now {
		delete(q.handed, key)
		return
	}
	q.keep(key, handOver{until: now + yieldFor, open: canaries, hot: h.hot}, now)
}

// keep keeps what is known, and looks whether some of the rest is too old, so that keys which nobody asks for again do not pile
// up. The mutex is held.
func (q *lines) keep(key string, h handOver, now time.Duration) {
	if q.handed == nil {
		q.handed = make(map[string]handOver)
	}
	looked := 0
	for old, o := range q.handed {
		if o.hot <= now {
			delete(q.handed, old)
		}
		if looked++; looked == 2 {
			break
		}
	}
	q.handed[key] = h
}

// named notes what a canary told: that somebody in another process was named, or that nobody was.
func (q *lines) named(key string, elsewhere bool, now time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h, ok := q.handed[key]
	h.open--
	if elsewhere {
		h.named, h.until, h.hot = true, now+yieldFor, now+hotFor
	}
	if ok || elsewhere {
		q.keep(key, h, now)
	}
	if l := q.byKey[key]; l != nil && (h.named || h.open <= 0) {
		l.head.freed = l.head.freed || !h.named
		l.head.notify()
	}
}

// next tells whether somebody in another process comes next for the key, which is told once, and else until when that is not known.
func (q *lines) next(key string, now time.Duration) (elsewhere bool, unknown time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h, ok := q.handed[key]
	switch {
	case !ok || h.until <= now:
		return false, 0
	case h.named:
		h.named, h.until = false, now
		q.handed[key] = h
		return true, 0
	case h.open > 0:
		return false, h.until
	}
	return false, 0
}

func (w *waiter) notify() { notify(w.wake) }

// forget drops the notice, if there is one: the caller is about to look, and will see what it told of.
func (w *waiter) forget() {
	select {
	case <-w.wake:
	default:
	}
}
