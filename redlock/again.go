package redlock

import (
	"context"
	"math/bits"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// again is one more question to the nodes that refused.
type again struct {
	round *round
	due   deadline

	mu   sync.Mutex // protects what follows
	open uint64
	over bool
}

// ask asks; it tells whether any node was.
func (a *again) ask(nodes uint64) bool {
	c := a.round.core
	now := c.clock.Now()
	a.open = nodes
	c.votesDue.add(&a.due, now, a)
	asked := false
	for i := range c.names {
		if nodes&(1<<i) == 0 {
			continue
		}
		if c.group.Again(&a.round.bid, i, a, now+c.nodeTimeout) {
			asked = true
		} else {
			a.answered(i)
		}
	}
	return asked
}

func (a *again) answered(i int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open &^= 1 << i
}

// Heard records a node's answer; the lanes call it.
func (a *again) Heard(i int, reply *node.Reply, at time.Duration) {
	r := a.round
	if reply.Confirmation == quorum.Confirmed && r.validity(at) > 0 {
		r.mu.Lock()
		r.granted |= 1 << i
		r.mu.Unlock()
	}
	a.answered(i)
	r.notify()
}

// endTime ends the waiting.
func (a *again) endTime() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.round.notify()
}

// await waits until a majority has granted, or none can any more.
func (a *again) await(ctx context.Context) (won bool) {
	c := a.round.core
	defer c.votesDue.remove(&a.due)
	size := quorum.Size(len(c.names))
	for {
		a.mu.Lock()
		open, over := bits.OnesCount64(a.open), a.over
		a.mu.Unlock()
		a.round.mu.Lock()
		granted := bits.OnesCount64(a.round.granted)
		a.round.mu.Unlock()
		switch {
		case granted >= size:
			return true
		case over || granted+open < size:
			return false
		}
		select {
		case <-a.round.changed:
		case <-ctx.Done():
			return false
		case <-c.gate.shut:
			return false
		}
	}
}
