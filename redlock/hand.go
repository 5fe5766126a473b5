package redlock

import (
	"errors"
	"slices"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
)

// hotFor is for how long others are taken to wait for a key once it was seen.
const hotFor = time.Second

// yieldFor is for how long the next caller here stands back for whom another process was told of. Whoever was told asks within a
// round trip.
const yieldFor = 100 * time.Millisecond

// hands is what the release of a lock does besides on the canaries of its keys: it names the next who waits, wherever that is.
// Where nobody was named, or nothing is known of it, the next is the head of this process's own line.
func (r *round) hands() (hands []*node.Hand) {
	c := r.core
	if c.listeners == nil {
		return nil
	}
	for _, key := range r.bid.Keys {
		at := c.canary(key)
		i := slices.IndexFunc(hands, func(h *node.Hand) bool { return h.Node == at })
		if i < 0 {
			i = len(hands)
			hands = append(hands, &node.Hand{Node: at, Channels: c.prefix + channelTag, Heard: func(answer []any) { r.handed(at, answer) }})
		}
		hands[i].Lists = append(hands[i].Lists, c.helper(queueTag, key))
	}
	c.lines.handing(lineOf(r.bid.Keys), len(hands), r.waited, c.clock.Now())
	return hands
}

// handed hears what a canary did.
func (r *round) handed(at int, answer []any) {
	id, err := readHand(answer)
	if err != nil {
		r.core.troubled(at, err)
	}
	r.core.lines.named(lineOf(r.bid.Keys), id != nil && id != r.core.id, r.core.clock.Now())
}

// readHand reads who was named, nil for nobody, by the answer's shape.
func readHand(answer []any) (id any, err error) {
	switch {
	case len(answer) == 0, len(answer) == 1 && answer[0] == int64(0):
		return nil, nil //nolint:nilnil // nobody
	case len(answer) == 2 && answer[0] == int64(1):
		return answer[1], nil
	}
	if text, ok := answer[0].(string); ok {
		return nil, errors.New(text)
	}
	return nil, errNoQueue
}
