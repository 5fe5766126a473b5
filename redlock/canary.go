package redlock

import (
	"errors"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// canary is the node that all clients ask first about a key.
func (c *core) canary(wire any) int {
	return c.canaryBut(wire, 0)
}

// canaryBut is the canary where some nodes are known to be of no use besides.
func (c *core) canaryBut(wire any, useless uint64) int {
	usable := func(i int) bool { return useless&(1<<i) == 0 && !c.group.Suspect(i) }
	return quorum.Canary(wire.(string), c.hashes, usable)
}

// queueOf is where clients wait for a key.
func (c *core) queueOf(wire any) *node.Queue {
	return &node.Queue{Key: wire, List: c.helper(queueTag, wire), Channels: c.prefix + channelTag, ID: c.id}
}

// blocker is the key that refused the round, as far as that is known: of several keys it is the queue of that one to wait in.
func (c *call) blocker(r *round) any {
	if r != nil && r.bid.Blockers != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i := range c.core.names {
			if b := int(r.bid.Blockers[i]); r.tally.Vote(i) == quorum.Refused && b > 0 && b <= len(c.keys.wire) {
				return c.keys.wire[b-1]
			}
		}
	}
	return c.keys.wire[0]
}

// maxCount is how many wait in a queue at most, as its script has it: what a node says beyond that lengthens no poll.
const maxCount = 1 << 10

// spot is what a waiter is told.
type spot struct {
	fresh bool // it was not in the queue before
	count int
	life  time.Duration // of who has the lock; negative: without an end, or not known
}

var errNoQueue = errors.New("the node keeps no queue")

// readSpot reads the answer of the queue's script by its shape; nil where the lock is free.
func readSpot(r *node.Reply) (*spot, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	if len(r.Queue) == 1 && r.Queue[0] == int64(0) {
		return nil, nil //nolint:nilnil // free, which is no spot
	}
	if len(r.Queue) == 2 {
		if text, ok := r.Queue[1].(string); ok {
			return nil, errors.New(text)
		}
	}
	if len(r.Queue) != 5 || r.Queue[0] != int64(1) {
		return nil, errNoQueue
	}
	count, ok := r.Queue[2].(int64)
	life, ok2 := r.Queue[3].(int64)
	if !ok || !ok2 || count < 0 {
		return nil, errNoQueue
	}
	return &spot{fresh: r.Queue[4] == int64(1), count: int(min(count, maxCount)), life: node.Life(life)}, nil
}
