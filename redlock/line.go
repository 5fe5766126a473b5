package redlock

import "sync"

// lines are the callers of Lock in this process, a line for each key, first in, first out. Only the head of a line contends
// for its key, so the cost at the nodes does not grow with the callers.
type lines struct {
	mu    sync.Mutex
	byKey map[string]*line
}

type line struct {
	key        string
	head, tail *waiter
}

// waiter is one caller's place in a line.
type waiter struct {
	line       *line
	prev, next *waiter
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

// leave takes the caller off, wherever it stands, and tells who becomes the head by it.
func (q *lines) leave(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := w.line
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
		l.head.notify()
	}
}

func (w *waiter) notify() { notify(w.wake) }

// forget drops the notice, if there is one: the caller is about to look, and will see what it told of.
func (w *waiter) forget() {
	select {
	case <-w.wake:
	default:
	}
}
