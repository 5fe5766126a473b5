package node

import (
	"container/heap"
	"iter"
	"slices"
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
	links []link        // one for each key
	inUse bool          // a repeat of it is under way
}

// link is a debt's place among those of one key.
type link struct {
	debt *debt
	prev *link // the next newer one
	next *link // the next older one
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
	byKey map[any]*link // the newest, by the key as it goes on the wire
	len   int
}

// owe returns the claim's debt, made due at now where there was none.
func (d *debts) owe(c *claim, now time.Duration) *debt {
	if c.debt != nil {
		return c.debt
	}
	if d.byKey == nil {
		d.byKey = make(map[any]*link)
	}
	c.debt = &debt{claim: c, due: now, since: never, links: make([]link, len(c.attempt.Keys))}
	for i, key := range c.attempt.Keys {
		l := &c.debt.links[i]
		l.debt, l.next = c.debt, d.byKey[key]
		if l.next != nil {
			l.next.prev = l
		}
		d.byKey[key] = l
	}
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
	for i, key := range c.attempt.Keys {
		d.unlink(key, &e.links[i])
	}
	c.debt = nil
	d.len--
}

func (d *debts) unlink(key any, l *link) {
	switch {
	case l.prev != nil:
		l.prev.next = l.next
	case l.next != nil:
		d.byKey[key] = l.next
	default:
		delete(d.byKey, key)
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
}

// has tells whether anything is owed on one of the keys.
func (d *debts) has(keys []any) bool {
	return len(d.byKey) > 0 && slices.ContainsFunc(keys, func(key any) bool { return d.byKey[key] != nil })
}

// all are the debts there are. One of several keys comes once for each.
func (d *debts) all() iter.Seq[*debt] {
	return func(yield func(*debt) bool) {
		for _, l := range d.byKey {
			for ; l != nil; l = l.next {
				if !yield(l.debt) {
					return
				}
			}
		}
	}
}

// longest is the TTL of the debt that can matter for longest.
func (d *debts) longest() (ttl time.Duration) {
	for e := range d.all() {
		ttl = max(ttl, e.claim.attempt.TTL)
	}
	return ttl
}

// unheard tells whether the node has not answered to one of them yet.
func (d *debts) unheard() bool {
	for e := range d.all() {
		if e.since == never {
			return true
		}
	}
	return false
}

// clear forgets all debts.
func (d *debts) clear() {
	for e := range d.all() {
		e.claim.debt = nil
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
