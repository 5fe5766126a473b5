package node

import (
	"sync/atomic"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// Clock is the part of the library's clock that the lanes need.
type Clock interface {
	Now() time.Duration
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// Group is the nodes of one quorum. Its methods may be called from several goroutines.
type Group struct {
	lanes    []*lane
	clock    Clock
	timeout  time.Duration
	suspects atomic.Int32

	// Owing, set before the Group is used, is told that the number of keys that are owed to a node may have changed. It must
	// not block. nil: nobody is told.
	Owing func(node int)

	// Settle, set likewise by a simulation, lets all happen that can before a lane looks at what there is to do: what a pipeline takes
	// along does not depend on how goroutines are scheduled then.
	Settle func()
}

// NewGroup returns the Group over the transports, one a node. A node that owes an answer for longer than timeout is
// suspect. The group starts nothing until it is asked something.
func NewGroup(transports []Transport, clock Clock, timeout time.Duration) *Group {
	g := &Group{clock: clock, timeout: timeout, lanes: make([]*lane, len(transports))}
	for i, t := range transports {
		g.lanes[i] = &lane{index: i, group: g, transport: t, limit: maxBatch}
		g.lanes[i].departed.Store(int64(never))
	}
	return g
}

// quorate tells whether the nodes that are not suspect make a quorum.
func (g *Group) quorate() bool {
	return len(g.lanes)-int(g.suspects.Load()) >= quorum.Size(len(g.lanes))
}

// look brings the suspects up to date, all of them before anything is submitted: whether a node is asked at all depends on
// how many others are suspect.
func (g *Group) look(now time.Duration) {
	for _, n := range g.lanes {
		n.look(now)
	}
}

// All are all nodes, for [Group.Ask].
const All = ^uint64(0)

// Ask submits the attempt's SET to the nodes of a set and returns without waiting. now is the clock's; a SET still queued at
// deadline is never sent. The attempt's Voter hears each node's vote once. It may be called again for other nodes.
func (g *Group) Ask(a *Attempt, nodes uint64, now, deadline time.Duration) {
	if a.claims == nil {
		a.claims = make([]claim, len(g.lanes))
		for i := range a.claims {
			a.claims[i].attempt = a
		}
	}
	ops := make([]op, len(g.lanes))
	args := a.setArgs()
	g.look(now)
	for i, n := range g.lanes {
		if nodes&(1<<i) == 0 {
			continue
		}
		c, o := &a.claims[i], &ops[i]
		o.kind, o.claim, o.deadline = kindSet, c, deadline
		o.reset(args)
		if err := n.ask(c, o); err != nil {
			a.Voter.Voted(i, quorum.Unsent, now, err)
		}
	}
}

func (n *lane) ask(c *claim, o *op) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.submit(o); err != nil {
		return err
	}
	c.state, c.set = stateQueued, o
	return nil
}

// Release gives the attempt up on every node, as its End says, and returns without waiting: from here on nothing of its
// token is sent but its release, which goes behind its SET. A node that does not confirm it by itself owes it (a debt); deadline is when a
// release that is still queued becomes one. withdraw takes back the SETs that were not sent yet; without it they still
// leave, ahead of the release, for the sake of their votes. to hears each node's answer once; it may be nil.
//
// A Group may be asked again to release an attempt: what is settled is answered from memory. hands, of different nodes, go out in any
// case.
func (g *Group) Release(a *Attempt, to Releaser, withdraw bool, now, deadline time.Duration, hands []*Hand) {
	ops := make([]op, len(g.lanes))
	args := a.giveUpArgs(now)
	g.look(now)
	for i, n := range g.lanes {
		o := &ops[i]
		o.kind, o.claim, o.to, o.deadline = kindRelease, &a.claims[i], to, deadline
		o.reset(args)
		for _, h := range hands {
			if h.Node == i {
				o.hand = h
				o.reset(h.args(a))
			}
		}
		withdrawn, settled := n.release(o, withdraw, now)
		if withdrawn {
			a.Voter.Voted(i, quorum.Unsent, now, ErrWithdrawn)
		}
		if settled && to != nil {
			to.Released(i, o.answer, o.mayHold, o.cause)
		}
		if settled && o.hand != nil {
			o.hand.Heard(nil)
		}
		n.showDebts()
	}
}

func (n *lane) release(o *op, withdraw bool, now time.Duration) (withdrawn, settled bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := o.claim
	if !c.ended && c.attempt.From != nil && c.attempt.End != Restore {
		c.inherit()
	}
	c.ended = true
	if c.state == stateQueued && (withdraw || c.set.kind == kindRepair) { // nobody counts on a repair's answer
		withdrawn = n.withdraw(c)
	}
	if c.clear() && o.hand == nil {
		o.answer = c.settled()
		return withdrawn, true
	}
	err := n.submit(o)
	if err == nil {
		return withdrawn, false
	}
	if c.state == stateQueued { // behind it there is no room, so it must not leave either
		withdrawn = n.withdraw(c)
	}
	if c.clear() {
		o.answer = c.settled()
		return withdrawn, true
	}
	// A debt made here needs no alarm: a lane that is suspect or full has one, or its goroutine, already.
	n.settleRelease(o, err, now)
	return withdrawn, true
}

// withdraw takes back the SET that has not left yet, and tells whether somebody waits for its vote. The mutex is held.
func (n *lane) withdraw(c *claim) bool {
	voted := c.set.kind == kindSet
	n.queue.remove(c.set)
	c.state, c.set = c.prior, nil
	return voted
}

// showDebts tells the Group's owner where the number of debts has changed. The mutex is not held.
func (n *lane) showDebts() {
	if n.group.Owing == nil {
		return
	}
	n.mu.Lock()
	changed := n.shown != n.debts.len
	n.shown = n.debts.len
	n.mu.Unlock()
	if changed {
		n.group.Owing(n.index)
	}
}

// Debts is how many keys are owed to each node.
func (g *Group) Debts() []int {
	out := make([]int, len(g.lanes))
	for i, n := range g.lanes {
		n.mu.Lock()
		out[i] = n.debts.len
		n.mu.Unlock()
	}
	return out
}
