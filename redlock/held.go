package redlock

import (
	"sync"
	"time"
)

// heldLocks are the locks of a Locker that may be held, for Close to give back.
type heldLocks struct {
	mu         sync.Mutex // protects what follows, and the locks' places
	head, tail *Lock
}

// place is a lock's place in the list.
type place struct {
	prev, next *Lock
	listed     bool
}

// add adds a lock. For each that comes two are looked at, and dropped if their validity has passed, so that locks which are
// never given back do not pile up: the list is never more than about twice as long as there are locks held.
func (h *heldLocks) add(k *Lock, now time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for range 2 {
		first := h.head
		if first == nil {
			break
		}
		h.unlink(first)
		if first.round().left(now) > 0 {
			h.link(first)
		}
	}
	h.link(k)
}

func (h *heldLocks) remove(k *Lock) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.place.listed {
		h.unlink(k)
	}
}

// all are the locks there are.
func (h *heldLocks) all() (locks []*Lock) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k := h.head; k != nil; k = k.place.next {
		locks = append(locks, k)
	}
	return locks
}

func (h *heldLocks) link(k *Lock) {
	k.place = place{prev: h.tail, listed: true}
	if h.tail == nil {
		h.head = k
	} else {
		h.tail.place.next = k
	}
	h.tail = k
}

func (h *heldLocks) unlink(k *Lock) {
	p := k.place
	if p.prev == nil {
		h.head = p.next
	} else {
		p.prev.place.next = p.next
	}
	if p.next == nil {
		h.tail = p.prev
	} else {
		p.next.place.prev = p.prev
	}
	k.place = place{}
}
