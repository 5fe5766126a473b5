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
	for e := n.debts.first(); e != nil && e.due <= now && len(n.batch) < min(maxDebtBatch, n.limit/2); e = n.debts.first() {
		n.takeDebt(e, now)
	}
}

func (n *lane) takeDebt(e *debt, now time.Duration) {
	n.debts.use(e)
	o := &op{kind: kindDebt, claim: e.claim}
	o.reset(e.claim.attempt.giveUpArgs(now))
	n.batch = append(n.batch, o)
}

// takeQueued takes what waits, in its order. A SET is preceded by what is owed on its key: a ghost of ours that is paid
// along the way cannot refuse it.
func (n *lane) takeQueued(now time.Duration) {
	room := min(maxDebtBatch, n.limit) // besides those that are due: neither kind may keep the other waiting
	for n.queue.len > 0 && len(n.batch) < n.limit {
		o := n.takeHead(now)
		if o == nil {
			continue
		}
		if o.sets() && n.debts.len > 0 {
			for _, key := range o.claim.attempt.Keys {
				room = n.takeAlong(key, room, now)
			}
		}
		n.depart(o)
	}
}

// takeAlong takes what is owed on the key, as far as there is room for it, and returns the room that is left.
func (n *lane) takeAlong(key any, room int, now time.Duration) int {
	for l := n.debts.byKey[key]; l != nil && room > 0; l = l.next {
		if !l.debt.inUse {
			n.takeDebt(l.debt, now)
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
	case o.releases() && o.claim.clear() && o.hand == nil:
		n.settleOp(o, nil, now, now) // the SET ahead of it was refused or never sent: nothing is there to release
	case o.kind == kindAsk && o.claim.ended:
		n.settleOp(o, ErrWithdrawn, now, now) // behind what gives the keys up it would undo a Leave
	case o.deadline != 0 && now >= o.deadline:
		n.settleOp(o, ErrLate, now, now)
	default:
		return o
	}
	n.late = append(n.late, o)
	return nil
}

func (n *lane) depart(o *op) {
	if o.sets() {
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
	n.adapt(len(batch), heard)
	told := batch[:0]
	for _, o := range batch {
		cause := err
		if o.lacksScript() {
			if n.sendAgain(o, now) {
				continue
			}
			o.asked, cause = false, ErrLate // it ran nowhere, so it is as good as never sent
		}
		n.settleOp(o, cause, departed, now)
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

// adapt fits the pipelines to what the node manages: one that lasted longer than the timeout failed as a whole, and would again.
func (n *lane) adapt(sent int, heard bool) {
	switch {
	case heard && sent >= n.limit: // a shorter one that was answered says nothing of a longer one
		n.limit = min(2*n.limit, maxBatch)
	case n.health.suspect:
		n.limit = max(sent/2, minBatch)
	}
}

// sendAgain keeps an operation whose script the node did not know, to be sent with its source; unless it is too late for
// that, or it would make a key of an attempt that was given up: behind its own undo it would leave a ghost.
func (n *lane) sendAgain(o *op, now time.Duration) bool {
	if o.deadline != 0 && now >= o.deadline || o.sets() && o.claim.ended {
		return false
	}
	if o.sets() {
		o.claim.state, o.claim.set = stateQueued, o
	}
	o.reset(bySource(o.args))
	n.again = append(n.again, o)
	return true
}

// owes tells whether a token of ours that was given up may be on one of the attempt's keys.
func (n *lane) owes(a *Attempt) bool {
	return n.debts.has(a.Keys) || slices.ContainsFunc(n.again, func(o *op) bool {
		return o.releases() && overlap(o.claim.attempt.Keys, a.Keys)
	})
}

func overlap(a, b []any) bool {
	return slices.ContainsFunc(a, func(key any) bool { return slices.Contains(b, key) })
}

func (n *lane) settleOp(o *op, cause error, departed, now time.Duration) {
	switch o.kind {
	case kindSet, kindRepair:
		n.settleSet(o, cause, departed)
	case kindRelease:
		n.settleRelease(o, cause, now)
	case kindDebt:
		if o.claim.debt != nil {
			o.claim.debt.inUse = false
		}
		n.settleRelease(o, cause, now)
	case kindAsk:
		n.settleAsk(o, cause, departed, now)
	case kindPing:
	}
}
