package node

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

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
}

// Holding is what a node has under a key.
type Holding struct {
	Token string        // "": nothing
	Life  time.Duration // negative: without an end
	Fence int64         // 0: none
}

type question uint8

const (
	askExtend question = iota
	askRaise
	askRepair
	askInspect
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
func (g *Group) Inspect(key, counter any, to Hearer, now, deadline time.Duration) {
	a := &Attempt{Keys: []any{key}, claims: make([]claim, len(g.lanes))}
	for i := range a.claims {
		a.claims[i].attempt = a
	}
	g.question(a, askInspect, inspectScript.args([]any{key}, counter), to, now, deadline)
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
	o := &op{kind: kindRepair, claim: &a.claims[node], ask: &ask{question: askRepair, to: to}, deadline: deadline}
	o.reset(a.repairArgs(fence))
	n := g.lanes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	c := o.claim
	if c.ended || c.state == stateQueued || c.state == stateFlying || n.submit(o) != nil {
		return
	}
	c.prior, c.state, c.set = c.state, stateQueued, o
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

// readAnswer reads an answered question by its shape.
func (o *op) readAnswer() error {
	v, err := o.Result()
	switch {
	case err == redis.Nil: //nolint:errorlint // no script of ours answers with the bare nil reply
		return ErrShape
	case err != nil:
		return err
	case o.ask.question == askInspect:
		return o.ask.reply.readHolding(v)
	}
	code, list := v, []any(nil)
	if o.ask.question == askExtend {
		if list, _ = v.([]any); len(list) == 0 {
			return ErrShape
		}
		code = list[0]
	}
	return o.ask.reply.readCode(code, list)
}

func (r *Reply) readCode(code any, list []any) error {
	switch {
	case code == int64(1) && list == nil:
		r.Confirmation = quorum.Confirmed
	case code == int64(1) && len(list) == 2:
		left, ok := list[1].(int64)
		if !ok || left < 0 {
			return ErrShape
		}
		r.Confirmation, r.Short = quorum.Confirmed, time.Duration(left)*time.Millisecond
	case len(list) < 2 && (code == int64(0) || code == int64(-1)):
		r.Confirmation, r.Foreign = quorum.Gone, code == int64(-1)
	default:
		return ErrShape
	}
	return nil
}

func (r *Reply) readHolding(v any) error {
	list, _ := v.([]any)
	if len(list) != 3 {
		return ErrShape
	}
	life, ok := list[1].(int64)
	if !ok {
		return ErrShape
	}
	token, isText := list[0].(string)
	if !isText && list[0] != nil {
		return ErrShape
	}
	counter, _ := list[2].(string)
	fence, err := strconv.ParseInt(counter, 10, 64)
	if err != nil {
		fence = 0 // what is no number is no fence
	}
	r.Confirmation = quorum.Confirmed
	r.Holding = Holding{Token: token, Life: time.Duration(life) * time.Millisecond, Fence: fence}
	return nil
}
