package node

import "time"

// Queue is where clients that wait for one key wait for one another, on one node. Nothing of it is trusted: it says when it may
// be worth asking.
type Queue struct {
	Key      any // the lock's
	List     any // the key of the list
	Channels any // what the waiters' channels begin with
	ID       any // of the waiter: this client
}

// Hand is what a release does besides on one node: it names the next in the queues of some of its keys.
type Hand struct {
	Node     int
	Lists    []any
	Channels any
	// Heard gets what the node answered after the release's own answer, of any shape, or nothing. It must not block.
	Heard func(answer []any)
}

func (h *Hand) args(a *Attempt) []any {
	before := a.From
	if before == nil {
		before = ""
	}
	return handScript.args(a.Keys, append([]any{a.Token, before, h.Channels}, h.Lists...)...)
}

// tell tells what became of the hand.
func (h *Hand) tell(o *op) {
	if list, _ := o.Val().([]any); o.status() == answered && o.Err() == nil && len(list) > 1 {
		h.Heard(list[1:])
	} else {
		h.Heard(nil)
	}
}

// Enqueue puts the waiter into the queue on one node: at its front, or even though the lock is free, if so told.
func (g *Group) Enqueue(node int, q *Queue, front, always bool, to Hearer, now, deadline time.Duration) {
	args := queueScript.args([]any{q.Key}, q.List, q.ID, digit(front), digit(always))
	g.askOne(node, q, args, to, now, deadline)
}

// Quit takes the waiter off the queue on one node. With pass, where it was named before, the next is named instead.
func (g *Group) Quit(node int, q *Queue, pass bool, to Hearer, now, deadline time.Duration) {
	args := []any{"lrem", q.List, 0, q.ID}
	if pass {
		args = quitScript.args([]any{q.Key}, q.ID, "", q.Channels, q.List)
	}
	g.askOne(node, q, args, to, now, deadline)
}

func digit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (g *Group) askOne(node int, q *Queue, args []any, to Hearer, now, deadline time.Duration) {
	o := &op{kind: kindAsk, claim: &claim{attempt: &Attempt{Keys: []any{q.Key}}}, ask: &ask{question: askQueue, to: to}, deadline: deadline}
	o.reset(args)
	g.look(now)
	if err := g.lanes[node].put(o); err != nil {
		o.ask.reply.Err = err
		to.Heard(node, &o.ask.reply, now)
	}
}

// Suspect tells whether the node owes an answer past its timeout.
func (g *Group) Suspect(node int) bool {
	n := g.lanes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.health.suspect
}
