package node

import (
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// takeDue takes the debts that are due, unless the node failed a moment ago.
func (n *lane) takeDue(now time.Duration) {
	if n.health.pausing(now) {
		return
	}
	for e := n.debts.first(); e != nil && e.due <= now && len(n.batch) < maxDebtBatch; e = n.debts.first() {
		n.takeDebt(e)
	}
}

func (n *lane) takeDebt(e *debt) {
	n.debts.use(e)
	o := &op{kind: kindDebt, claim: e.claim}
	o.reset(e.claim.attempt.releaseArgs())
	n.batch = append(n.batch, o)
}

// takeQueued takes what waits, in its order. A SET is preceded by what is owed on its key: a ghost of ours that is paid
// along the way cannot refuse it.
func (n *lane) takeQueued(now time.Duration) {
	room := maxDebtBatch // besides those that are due: neither kind may keep the other waiting
	for n.queue.len > 0 && len(n.batch) < maxBatch {
		o := n.takeHead(now)
		if o == nil {
			continue
		}
		if o.kind == kindSet && n.debts.len > 0 {
			room = n.takeAlong(o.claim.key(), room)
		}
		n.depart(o)
	}
}

// takeAlong takes what is owed on the key, as far as there is room for it, and returns the room that is left.
func (n *lane) takeAlong(key string, room int) int {
	for e := n.debts.byKey[key]; e != nil && room > 0; e = e.next {
		if !e.inUse {
			n.takeDebt(e)
			room--
		}
	}
	return room
}

// takeHead takes the queue's head, or nil if that one is not to be sent any more.
func (n *lane) takeHead(now time.Duration) *op {
	o := n.queue.head
	n.queue.remove(o)
	switch {
	case o.kind != kindSet && o.claim.clear():
		n.settleOp(o, nil, now) // the SET ahead of it was refused or never sent: nothing is there to release
	case o.deadline != 0 && now >= o.deadline:
		n.settleOp(o, ErrLate, now)
	default:
		return o
	}
	n.late = append(n.late, o)
	return nil
}

func (n *lane) depart(o *op) {
	if o.kind == kindSet {
		o.claim.state, o.claim.set = stateFlying, nil
	}
	n.flight = max(n.flight, o.claim.attempt.TTL)
	n.batch = append(n.batch, o)
}

// settle draws the conclusions of a round trip and returns the operations whose listeners are to be told.
func (n *lane) settle(batch []*op, err error, now time.Duration) []*op {
	n.mu.Lock()
	defer n.mu.Unlock()
	departed := time.Duration(n.departed.Swap(int64(never)))
	n.flight, n.pinging = 0, false
	if errors.Is(err, redis.ErrClosed) {
		n.forget() // the client is closed for good: what is owed cannot be paid any more
	}
	heard := false
	for _, o := range batch {
		heard = heard || o.status() == answered
	}
	if heard {
		n.heard()
	} else {
		n.missed(departed, now)
	}
	told := batch[:0]
	for _, o := range batch {
		cause := err
		if o.lacksScript() {
			if o.deadline == 0 || now < o.deadline {
				o.reset(releaseScript.bySource(o.args))
				n.again = append(n.again, o)
				continue
			}
			o.asked, cause = false, ErrLate // it ran nowhere, so it is as good as never sent
		}
		n.settleOp(o, cause, now)
		told = append(told, o)
	}
	// To the head, not the tail: behind its own attempt's undo an attempt would leave a ghost.
	for _, o := range slices.Backward(n.again) {
		n.queue.pushFront(o)
	}
	clear(n.again)
	n.again = n.again[:0]
	return told
}

// owes tells whether a token of ours that was given up may be on the key.
func (n *lane) owes(key string) bool {
	return n.debts.has(key) || slices.ContainsFunc(n.again, func(o *op) bool { return o.claim.key() == key })
}

func (n *lane) settleOp(o *op, cause error, now time.Duration) {
	switch o.kind {
	case kindSet:
		n.settleSet(o, cause)
	case kindRelease:
		n.settleRelease(o, cause, now)
	case kindDebt:
		if o.claim.debt != nil {
			o.claim.debt.inUse = false
		}
		n.settleRelease(o, cause, now)
	case kindPing:
	}
}
