package redlock

import (
	"context"
	"math/bits"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// outlook is what the poll of a waiter sees. It begins with a look, since a round for a key that others have takes the nodes that are free from
// whoever is about to get them, if only for a moment; of many waiters who poll so nobody ever has a majority.
type outlook uint8

const (
	taken   outlook = iota // a round would be lost
	nearly                 // the canary has the key and most others do not: it is coming or going, or the canary is stuck
	unknown                // a majority does not say
	free                   // whoever was named is about to have it, or nobody was named
)

func (s *sight) outlook(canary int) outlook {
	switch {
	case s.taken():
		return taken
	case !s.answered():
		return unknown
	case s.held&(1<<canary) != 0:
		return nearly
	}
	return free
}

// sight is what nodes have under a key at present.
type sight struct {
	core *core
	now  chan struct{} // holds a notice where something was seen

	mu         sync.Mutex // protects what follows
	free, held uint64
	silent     uint64
}

// see asks all nodes, until it is known what there is to know: that a round would be lost, or else what one of them says, too.
func (c *call) see(ctx context.Context, key any, one int) (*sight, error) {
	core := c.core
	s := &sight{core: core, now: make(chan struct{}, 1)}
	now := core.clock.Now()
	enough, stop := core.after(core.nodeTimeout)
	defer func() { stop() }()
	hasty := false
	core.group.Look(key, s, now, now+core.nodeTimeout)
	for !s.over(one) {
		if !hasty && s.answered() {
			hasty = true
			stop()
			enough, stop = core.after(core.hesitation(c.terms, core.clock.Now()-now))
		}
		select {
		case <-s.now:
		case <-enough:
			return s.copy(), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-core.gate.shut:
			return nil, ErrClosed
		}
	}
	return s.copy(), nil
}

// Heard records what a node says; the lanes call it.
func (s *sight) Heard(i int, r *node.Reply, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Confirmation != quorum.Confirmed:
		s.silent |= 1 << i
	case r.Free:
		s.free |= 1 << i
	default:
		s.held |= 1 << i
	}
	notify(s.now)
}

// over tells whether no more is to be waited for.
func (s *sight) over(one int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.free | s.held | s.silent
	n := len(s.core.names)
	return s.takenNow() || known&(1<<one) != 0 && bits.OnesCount64(s.free) >= quorum.Size(n) || bits.OnesCount64(known) == n
}

// copy is what was seen so far.
func (s *sight) copy() *sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &sight{core: s.core, free: s.free, held: s.held, silent: s.silent}
}

// taken tells whether so many nodes have the key that a round would be lost.
func (s *sight) taken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takenNow()
}

// takenNow is taken. The mutex is held.
func (s *sight) takenNow() bool {
	n := len(s.core.names)
	return bits.OnesCount64(s.held) > n-quorum.Size(n)
}

// answered tells whether a majority did.
func (s *sight) answered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bits.OnesCount64(s.free|s.held) >= quorum.Size(len(s.core.names))
}
