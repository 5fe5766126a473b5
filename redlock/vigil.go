package redlock

import (
	"container/heap"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/clock"
)

// lookEvery is how often the clock is looked at while a lock is watched: timers stand still while a system is suspended, the
// clock does not.
const lookEvery = 100 * time.Millisecond

// vigil ends the locks of a Locker that somebody waits for when their validity is over, with one timer for all.
type vigil struct {
	clock  clock.Clock
	looked func(now time.Duration) // is told of every look

	mu    sync.Mutex // protects what follows
	heap  watched
	armed *alarm // nil while nothing is watched
}

// watch is a lock's place in the vigil.
type watch struct {
	end   time.Duration // as it was when it was last looked at: an Extend may have moved it on since
	index int           // in the heap, from 1; 0 while it is not watched
}

// alarm is one setting of the vigil's timer.
type alarm struct {
	at   time.Duration
	stop func() bool
}

func (v *vigil) add(k *Lock, end, now time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	k.watch.end = end
	heap.Push(&v.heap, k)
	v.arm(now)
}

func (v *vigil) forget(k *Lock) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if k.watch.index > 0 {
		heap.Remove(&v.heap, k.watch.index-1)
	}
	if len(v.heap) == 0 && v.armed != nil {
		v.armed.stop()
		v.armed = nil
	}
}

// arm sets the timer for the first end, and for the next look at the latest. The mutex is held.
func (v *vigil) arm(now time.Duration) {
	if len(v.heap) == 0 {
		return
	}
	at := min(v.heap[0].watch.end, now+lookEvery)
	if v.armed != nil {
		if v.armed.at <= at {
			return
		}
		v.armed.stop() // where it is too late for that, ring takes no notice of it
	}
	a := &alarm{at: at}
	a.stop = v.clock.AfterFunc(max(at-now, 0), func() { v.ring(a) })
	v.armed = a
}

// ring ends the locks whose end has come.
func (v *vigil) ring(a *alarm) {
	v.mu.Lock()
	if v.armed != a {
		v.mu.Unlock()
		return
	}
	v.armed = nil
	now := v.clock.Now()
	var due []*Lock
	for len(v.heap) > 0 && v.heap[0].watch.end <= now {
		due = append(due, heap.Pop(&v.heap).(*Lock))
	}
	v.arm(now)
	v.mu.Unlock()
	v.looked(now)
	for _, k := range due {
		if k.state(now) == nil {
			v.add(k, k.round().end(), now) // one that ends meanwhile stays until that end, and is found to have ended then
		}
	}
}

// watched orders locks by their ends.
type watched []*Lock

func (w watched) Len() int           { return len(w) }
func (w watched) Less(i, j int) bool { return w[i].watch.end < w[j].watch.end }
func (w watched) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].watch.index, w[j].watch.index = i+1, j+1
}

// Push is container/heap's.
func (w *watched) Push(x any) {
	k := x.(*Lock)
	*w = append(*w, k)
	k.watch.index = len(*w)
}

// Pop is container/heap's.
func (w *watched) Pop() any {
	old := *w
	k := old[len(old)-1]
	old[len(old)-1] = nil
	*w = old[:len(old)-1]
	k.watch.index = 0
	return k
}
