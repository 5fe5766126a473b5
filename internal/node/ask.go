package node

import (
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// Hearer hears the answers to a question, each node's once, as a [Voter] does; it may call [Group.Repair].
type Hearer interface {
	Heard(node int, r *Reply, at time.Duration)
}

// Reply is one node's answer to a question.
type Reply struct {
	Confirmation quorum.Confirmation
	Foreign      bool  // of Gone: a key is somebody else's
	Err          error // of Unconfirmed: why

	// Of [Group.Extend]: how much less life the keys had than what the node last acknowledged must have left them; and
	// that no SET of the token there has an unknown fate.
	Short time.Duration
	Sure  bool

	Holding Holding // of [Group.Inspect]
	Free    bool    // of Confirmed by [Group.Look]: nothing is there
	Queue   []any   // of the queue's scripts: what they answered, of any shape
}

// Holding is what a node has under a key.
type Holding struct {
	Token string        // "": nothing
	Life  time.Duration // negative: without an end
	Fence int64         // 0: none
	Waits int           // how many wait in its queue
}

type question uint8

const (
	askExtend question = iota
	askRaise
	askRepair
	askInspect
	askAgain
	askQueue
	askLook
)

// ask is what an operation has besides that asks a question.
type ask struct {
	question question
	to       Hearer
	reply    Reply
}

// Extend asks every node to give the attempt's keys a full TTL again where all of them still carry its token, and to let none
// of their counters be below the fence.
func (g *Group) Extend(a *Attempt, fence int64, to Hearer, now, deadline time.Duration) {
	g.question(a, askExtend, a.extendArgs(fence), to, now, deadline)
}

// Raise asks every node where the attempt's keys all carry its token to let none of their counters be below the fence.
func (g *Group) Raise(a *Attempt, fence int64, to Hearer, now, deadline time.Duration) {
	g.question(a, askRaise, a.raiseArgs(fence), to, now, deadline)
}

// Inspect asks every node what it has under the key, which changes nothing.
func (g *Group) Inspect(key, counter, queue any, to Hearer, now, deadline time.Duration) {
	g.question(g.nobodys(key), askInspect, inspectScript.args([]any{key}, counter, queue), to, now, deadline)
}

// Look asks every node whether it has anything under the key.
func (g *Group) Look(key any, to Hearer, now, deadline time.Duration) {
	g.question(g.nobodys(key), askLook, []any{"pttl", key}, to, now, deadline)
}

// nobodys is an attempt that is none, for questions about a key.
func (g *Group) nobodys(key any) *Attempt {
	a := &Attempt{Keys: []any{key}, claims: make([]claim, len(g.lanes))}
	for i := range a.claims {
		a.claims[i].attempt = a
	}
	return a
}

func (g *Group) question(a *Attempt, q question, args []any, to Hearer, now, deadline time.Duration) {
	ops := make([]op, len(g.lanes))
	asks := make([]ask, len(g.lanes))
	g.look(now)
	for i, n := range g.lanes {
		o := &ops[i]
		asks[i] = ask{question: q, to: to}
		o.kind, o.claim, o.ask, o.deadline = kindAsk, &a.claims[i], &asks[i], deadline
		o.reset(args)
		if err := n.put(o); err != nil {
			o.ask.reply = Reply{Confirmation: quorum.Unconfirmed, Err: err}
			to.Heard(i, &o.ask.reply, now)
		}
	}
}

func (n *lane) put(o *op) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.submit(o)
}

// Repair has one node set the keys again where they are missing, with a full TTL, and the fence. to hears of it unless
// nothing is sent: after the attempt was given up, while another SET of it is under way there, or where no more is taken.
func (g *Group) Repair(a *Attempt, node int, fence int64, to Hearer, deadline time.Duration) {
	g.setAgain(a, node, askRepair, a.repairArgs(fence), to, deadline)
}

// Again asks one node for the keys once more, with the same token: what it has of it already it keeps. It tells whether to will
// hear of it, as Repair does.
func (g *Group) Again(a *Attempt, node int, to Hearer, deadline time.Duration) bool {
	return g.setAgain(a, node, askAgain, a.againArgs(), to, deadline)
}

func (g *Group) setAgain(a *Attempt, node int, q question, args []any, to Hearer, deadline time.Duration) bool {
	o := &op{kind: kindRepair, claim: &a.claims[node], ask: &ask{question: q, to: to}, deadline: deadline}
	o.reset(args)
	n := g.lanes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	c := o.claim
	if c.ended || c.state == stateQueued || c.state == stateFlying || n.submit(o) != nil {
		return false
	}
	c.prior, c.state, c.set = c.state, stateQueued, o
	return true
}

// Abandon sees to it that nothing of the attempt is submitted any more, and leaves what is on the nodes alone.
func (g *Group) Abandon(a *Attempt) {
	for i, n := range g.lanes {
		if n.abandon(&a.claims[i]) {
			a.Voter.Voted(i, quorum.Unsent, g.clock.Now(), ErrWithdrawn)
		}
	}
}

func (n *lane) abandon(c *claim) (withdrawn bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c.ended = true
	return c.state == stateQueued && n.withdraw(c)
}

// settleAsk draws the answer from what became of a question.
func (n *lane) settleAsk(o *op, cause error, departed, now time.Duration) {
	r := &o.ask.reply
	r.Confirmation, r.Err = quorum.Unconfirmed, cause
	if o.status() == answered {
		r.Err = o.readAnswer()
	}
	if o.ask.question != askExtend {
		return
	}
	c := o.claim
	if o.status() == answered {
		c.witness(now)
	}
	if r.Confirmation == quorum.Confirmed {
		if c.state == stateErrored {
			c.state = stateGranted // the error was not the whole truth
		}
		if left := r.Short; c.armed != 0 { // what was read is how long it still had
			r.Short = c.attempt.TTL - (now - c.armed) - left
		} else {
			r.Short = 0
		}
		c.armed = departed
	}
	r.Sure = c.state != stateUnknown && c.state != stateQueued && c.state != stateFlying
}

// witness notes that the node answered. One TTL after it first did so, no SET that it did not answer before can be alive,
// wherever its bytes were kept.
func (c *claim) witness(now time.Duration) {
	switch {
	case c.state != stateUnknown:
	case c.heard == never:
		c.heard = now
	case now-c.heard >= c.attempt.TTL:
		c.state = stateGranted // which is: it may be there, and one answered release settles it
	}
}
