package node

import (
	"container/heap"
	"time"
)

// maxDebts bounds what may be owed to one node. A full table stops SETs to that node; it drops nothing.
const maxDebts = 65536

// debt is a claim that was given up and is not yet released for good.
type debt struct {
	claim *claim
	due   time.Duration // not repeated before this
	since time.Duration // when the node first answered a repeat; never where it did not yet
	index int           // in the heap; -1 while a repeat is under way
	prev  *debt         // the next newer one of the same key
	next  *debt         // the next older one of the same key
	inUse bool          // a repeat of it is under way
}

const never = time.Duration(-1)

// repeats are the pauses between the first answered release and the next ones, while a SET has an unknown fate: bytes of a
// connection that is closed by now may be read after those of the one that carries the releases.
var repeats = [...]time.Duration{50 * time.Millisecond, 200 * time.Millisecond, time.Second}

// nextRepeat is when a debt that the node first answered at since is repeated after an answer at now; ok is false where
// one TTL has passed, after which nothing that was sent before since can still be alive.
func nextRepeat(since, now, ttl time.Duration) (due time.Duration, ok bool) {
	elapsed := now - since
	if elapsed >= ttl {
		return 0, false
	}
	for _, r := range repeats {
		if r > elapsed {
			return since + min(r, ttl), true
		}
	}
	return min(now+ttl/4, since+ttl), true
}

// debts are what is owed to one node. Its mutex guards them.
type debts struct {
	heap  dueHeap
	byKey map[string]*debt
	len   int
}

// owe returns the claim's debt, made due at now where there was none.
func (d *debts) owe(c *claim, now time.Duration) *debt {
	if c.debt != nil {
		return c.debt
	}
	if d.byKey == nil {
		d.byKey = make(map[string]*debt)
	}
	c.debt = &debt{claim: c, due: now, since: never, next: d.byKey[c.key()]}
	if c.debt.next != nil {
		c.debt.next.prev = c.debt
	}
	d.byKey[c.key()] = c.debt
	d.len++
	heap.Push(&d.heap, c.debt)
	return c.debt
}

// drop takes the claim's debt off, if there is one: it is paid, or proved to be none.
func (d *debts) drop(c *claim) {
	if c.debt == nil {
		return
	}
	e := c.debt
	if e.index >= 0 {
		heap.Remove(&d.heap, e.index)
	}
	switch {
	case e.prev != nil:
		e.prev.next = e.next
	case e.next != nil:
		d.byKey[c.key()] = e.next
	default:
		delete(d.byKey, c.key())
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	c.debt = nil
	d.len--
}

// has tells whether anything is owed on the key.
func (d *debts) has(key string) bool { return d.byKey[key] != nil }

// longest is the TTL of the debt that can matter for longest.
func (d *debts) longest() (ttl time.Duration) {
	for _, e := range d.byKey {
		for ; e != nil; e = e.next {
			ttl = max(ttl, e.claim.attempt.TTL)
		}
	}
	return ttl
}

// unheard tells whether the node has not answered to one of them yet.
func (d *debts) unheard() bool {
	for _, e := range d.byKey {
		for ; e != nil; e = e.next {
			if e.since == never {
				return true
			}
		}
	}
	return false
}

// clear forgets all debts.
func (d *debts) clear() {
	for _, e := range d.byKey {
		for ; e != nil; e = e.next {
			e.claim.debt = nil
		}
	}
	*d = debts{}
}

// use takes the debt out of the schedule while a repeat of it is under way.
func (d *debts) use(e *debt) {
	e.inUse = true
	if e.index >= 0 {
		heap.Remove(&d.heap, e.index)
	}
}

// first is the debt that has been due longest, or nil.
func (d *debts) first() *debt {
	if len(d.heap) == 0 {
		return nil
	}
	return d.heap[0]
}

// settle puts the debt back into the schedule after a release that did not end it, or drops it at the schedule's end.
// An answer starts the schedule, or moves it on. Without one the debt stays due at once: it is the node's own pause after
// a failure that spaces the tries.
func (e *debt) settle(d *debts, answered bool, now time.Duration) {
	if answered {
		if e.since == never {
			e.since = now
		}
		due, ok := nextRepeat(e.since, now, e.claim.attempt.TTL)
		if !ok {
			e.claim.state = stateNone
			d.drop(e.claim)
			return
		}
		e.due = due
	}
	if e.index >= 0 {
		heap.Fix(&d.heap, e.index)
	} else if !e.inUse {
		heap.Push(&d.heap, e)
	}
}

// dueHeap orders debts by when they are due.
type dueHeap []*debt

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is container/heap's.
func (h *dueHeap) Push(x any) {
	e := x.(*debt)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop is container/heap's.
func (h *dueHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}
