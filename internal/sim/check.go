package sim

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
	"github.com/quorumlock/go-redlock/redlock"
)

// hold is a lock that a client has, or had.
type hold struct {
	client *client
	lock   *redlock.Lock
	keys   []string
	fence  int64
	floor  int64         // the highest fence that anybody had when its call began
	until  time.Duration // by the client's clock: when its validity ends, as far as it was told
	kept   bool          // a KeepAlive moves that, and tells nobody
	given  bool          // the client began to give it up, or stopped heeding it
	deaf   bool          // the client works on whatever becomes of it
}

// held tells whether the client may work now. It asks the lock itself, so a lock that thinks too well of itself is found out.
func (h *hold) held() bool { return !h.given && (h.deaf || h.lock.Remaining() > 0) }

// give notes that the client gives the lock up: from now on it does not count on it.
func (h *hold) give() {
	k := h.client.world.check
	k.mu.Lock()
	defer k.mu.Unlock()
	h.given = true
}

// checker judges a schedule on true time, which nobody in it can see.
type checker struct {
	world *world

	mu     sync.Mutex // protects what follows; the world's is taken inside of it, never the other way round
	holds  []*hold
	fences map[string]int64 // the highest by key
	latest map[string]*hold // who had each key last

	// The world's mutex protects these.
	early map[string]uint64 // by token: the nodes that lost it before its time
	over  map[string]bool   // tokens that were given up
	// Tokens of locks that were extended, or may have been.
	renewed map[string]bool
	exempt  map[string]bool // tokens that stay on purpose, or because their client died
}

func newChecker(w *world) *checker {
	return &checker{
		world: w, fences: make(map[string]int64), latest: make(map[string]*hold),
		early: make(map[string]uint64), over: make(map[string]bool), exempt: make(map[string]bool), renewed: make(map[string]bool),
	}
}

// acquired holds a lock that a client just got against I1, I6 and I8.
func (k *checker) acquired(h *hold) {
	w := k.world
	now := w.now()
	h.until = h.client.local(now) + h.lock.Remaining()
	k.mu.Lock()
	defer k.mu.Unlock()
	w.count(&w.verdict.Acquired)
	k.alone(h, "acquired")
	k.carried(h, now)
	for _, key := range h.keys {
		highest := k.fences[key]
		if w.scenario.Broken() {
			highest = h.floor // of two who have it at once the one with the lower fence may be told so last
		}
		if h.fence > 0 && h.fence <= highest {
			w.violation("I8: %s got fence %d of %s after %d", h.client.name(), h.fence, key, highest)
		}
		k.fences[key] = max(k.fences[key], h.fence)
	}
	k.holds = append(k.holds, h)
	if h.held() { // else it stood still for so long that others may have come
		for _, key := range h.keys {
			k.latest[key] = h
		}
	}
}

// extended holds an Extend that succeeded against I1, I2, I6 and I7.
func (k *checker) extended(h *hold, began time.Duration) {
	w := k.world
	now := w.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	w.count(&w.verdict.Extended)
	if !h.kept && h.client.local(began) >= h.until {
		w.violation("I2: %s extended %v after its validity had ended", h.client.name(), h.keys)
	}
	k.alone(h, "extended")
	k.carried(h, now)
	k.continued(h)
	h.until = h.client.local(now) + h.lock.Remaining()
}

// highest returns the highest fence that anybody was given for one of the keys.
func (k *checker) highest(keys []string) (fence int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		fence = max(fence, k.fences[key])
	}
	return fence
}

// alone looks for others that hold a key of the lock. The mutex is held.
func (k *checker) alone(h *hold, how string) {
	w := k.world
	k.holds = slices.DeleteFunc(k.holds, func(o *hold) bool { return o != h && !o.held() })
	for _, o := range k.holds {
		if o == h || !slices.ContainsFunc(o.keys, func(key string) bool { return slices.Contains(h.keys, key) }) {
			continue
		}
		w.count(&w.verdict.Overlaps)
		w.note(h.client, fmt.Sprintf("%s %v WHILE %s HOLDS IT", how, h.keys, o.client.name()))
		if !w.scenario.Broken() {
			w.violation("I1: %s %s %v while %s holds %v", h.client.name(), how, h.keys, o.client.name(), o.keys)
		}
	}
}

// continued holds that nobody had a key since the lock did, which stands though a node forgets beyond A1: the votes of nodes that lost
// the key count for nothing. The mutex is held.
func (k *checker) continued(h *hold) {
	s := k.world.scenario
	if s.Broken() && !s.Forget && !s.Late {
		return
	}
	for _, key := range h.keys {
		if o := k.latest[key]; o != nil && o != h && h.held() {
			k.world.violation("I7: %s extended %s, which %s had meanwhile", h.client.name(), key, o.client.name())
		}
	}
}

// carried holds that a majority carries one token under each key, those counted that lost it early. The mutex is held.
func (k *checker) carried(h *hold, now time.Duration) {
	w := k.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range h.keys {
		if w.scenario.Lie || h.lock.Remaining() == 0 {
			continue
		}
		if _, nodes := k.most(key, now); nodes < quorum.Size(len(w.nodes)) {
			w.violationLocked("I6: %s has %s, which %d nodes carry", h.client.name(), key, nodes)
		}
	}
}

// most returns the token that most nodes carry under a key, or have lost early, and how many. The world's mutex is held.
func (k *checker) most(key string, now time.Duration) (token string, nodes int) {
	on := make(map[string]uint64, 2)
	for i, n := range k.world.nodes {
		if token, there := n.store.Value(n.local(now), key); there {
			on[token] |= 1 << i
		}
	}
	for t, where := range on {
		if g := bits.OnesCount64(where | k.early[t]); g > nodes || g == nodes && t < token {
			token, nodes = t, g
		}
	}
	return token, nodes
}

// touched holds a command against I3: what a key carries is changed only by who knows it. The world's mutex is held.
func (k *checker) touched(n *master, who *client, key, before string, now time.Time, args []any) {
	after, _ := n.store.Value(now, key)
	if before == "" || after == before || !isLock(key) || slices.Contains(args, any(before)) {
		return
	}
	k.world.violationLocked("I3: %s changed %s on %s, which was another's", who.name(), key, n.name())
}

// ended notes that a command gives a token up. The world's mutex is held.
func (k *checker) ended(args []any) {
	for _, a := range args[3+args[2].(int):] {
		if token, ok := a.(string); ok {
			k.over[token] = true
		}
	}
}

// leftovers holds the end of a schedule against I4: everything was given up a while ago, and all nodes have answered since.
func (k *checker) leftovers(now time.Duration) {
	w := k.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.nodes {
		for key, token := range n.store.Values(n.local(now)) {
			if isLock(key) && !k.exempt[token] && !n.old && w.plan.doubling == 0 {
				w.violationLocked("I4: %s still carries %s", n.name(), key)
			}
		}
	}
}

// spare exempts what most nodes carry under the keys.
func (k *checker) spare(keys []string) {
	w := k.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		token, _ := k.most(key, w.now())
		k.exempt[token] = true
	}
}
