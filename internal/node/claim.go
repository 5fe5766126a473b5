package node

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// Voter hears the votes of an attempt, each node's once: from the lanes' goroutines, or inside the call that submitted.
// at is when the node's batch came back. It must not block, and it must not call the Group.
type Voter interface {
	Voted(node int, v quorum.Vote, at time.Duration, cause error)
}

// Releaser hears the answers to a release, each node's once, under the same rules as [Voter]. mayHold tells that the node
// may still carry the token, or may yet get it.
type Releaser interface {
	Released(node int, a quorum.Answer, mayHold bool, cause error)
}

// state is what is known of a token on one node.
type state uint8

const (
	stateNone    state = iota // nothing of the token is there, and nothing will come
	stateQueued               // a SET of it waits in the lane
	stateFlying               // a SET of it left with a batch that is not back
	stateGranted              // its SET was answered with yes
	stateRefused              // its SET was answered with no
	stateErrored              // its SET was answered with an error: hardly applied, undone once all the same
	stateUnknown              // a SET was not answered: it was applied, or never will be, or is still on its way
)

// after is the state after one more SET, which by itself would lead to t.
func (s state) after(t state) state {
	if s == stateUnknown || s == stateGranted && t == stateErrored {
		return s
	}
	return t
}

// claim is one token on one node. The node's mutex guards it.
type claim struct {
	attempt *Attempt
	set     *op           // its SET, or a repair, while queued
	debt    *debt         // nil where nothing is owed
	armed   time.Duration // when what the node last acknowledged as the start of a full TTL left; 0 where nothing was
	heard   time.Duration // of stateUnknown: when the node first answered after that SET; never where it did not yet
	answer  quorum.Answer // how it was released for good; AnswerOpen until then
	state   state
	prior   state // before the SET that is queued or flying
	tried   bool  // a release may already have run
	ended   bool  // it was given up: no SET of it is submitted any more
}

// settleSet draws the vote from what became of a SET or of a repair.
func (n *lane) settleSet(o *op, cause error, departed time.Duration) {
	c := o.claim
	c.set = nil
	answer := stateNone
	switch o.status() {
	case unsent:
		c.state, o.vote, o.cause = c.prior, quorum.Unsent, cause
	case unknown:
		answer, o.vote, o.cause = stateUnknown, quorum.Unknown, cause
	case answered:
		answer, o.vote, o.cause = o.setAnswer()
	}
	switch {
	case answer == stateRefused && o.kind == kindRepair:
		c.state = c.prior // one key is somebody else's: of several the others may be ours
	case answer != stateNone:
		c.state = c.prior.after(answer)
	}
	if answer == stateUnknown {
		c.heard = never
	}
	if answer == stateGranted {
		c.armed = departed
		if o.fenced() && c.prior != stateGranted { // else the first one is the Voter's by now
			c.attempt.Fencing.Stamps[n.index], _, _, _ = readStamp(o.Val())
		}
	}
	if c.clear() {
		n.debts.drop(c) // cannot be owed: the node never got it, or said no
	}
	if answer == stateRefused && o.kind == kindSet && c.attempt.Blockers != nil { // later ones come when it may be read
		c.attempt.Blockers[n.index] = uint8(max(o.refusal(o.Val()), 0)) // a lock has no more keys than that
	}
	if answer == stateRefused && n.owes(c.attempt) {
		o.vote, o.cause = quorum.Unknown, ErrOwed
	}
	if o.kind == kindRepair {
		o.ask.reply = Reply{Confirmation: quorum.Unconfirmed, Err: o.cause}
		switch { // the answer, not the state: that may be of an earlier SET
		case answer == stateGranted && o.vote == quorum.Granted: // else a fenced one has no counter there
			o.ask.reply = Reply{Confirmation: quorum.Confirmed, Sure: c.state == stateGranted}
		case o.vote == quorum.Refused:
			o.ask.reply = Reply{Confirmation: quorum.Gone, Foreign: true}
		}
	}
}

// setAnswer reads an answered SET by its shape; whatever else came may be the answer to another command, so the SET's own
// fate is unknown.
func (o *op) setAnswer() (state, quorum.Vote, error) {
	v, err := o.Result()
	plain := o.args[0] == "set"
	fenced := !plain && o.fenced()
	switch {
	case plain && err == redis.Nil: //nolint:errorlint // only the bare nil reply is the refusal
		return stateRefused, quorum.Refused, nil
	case err == redis.Nil: //nolint:errorlint // no script of ours answers with the bare nil reply
		return stateUnknown, quorum.Unknown, ErrShape
	case err != nil:
		return stateErrored, quorum.Unknown, err
	case plain && v == "OK", !plain && !fenced && v == int64(1):
		return stateGranted, quorum.Granted, nil
	case !plain && o.refusal(v) >= 0:
		return stateRefused, quorum.Refused, nil
	case fenced:
		_, s, vote, err := readStamp(v)
		return s, vote, err
	}
	return stateUnknown, quorum.Unknown, ErrShape
}

// refusal is the number of the key that refused, from 1, 0 where that is not said, and negative for what is no refusal.
func (o *op) refusal(v any) int {
	i, ok := v.(int64)
	switch a := o.claim.attempt; {
	case ok && i == 0:
		return 0
	case ok && i < 0 && i >= -int64(len(a.Keys)) && (o.kind == kindSet && a.From == nil || o.kind == kindRepair && o.ask.question == askAgain):
		return int(-i)
	}
	return -1 // as the answer of a release would be, to what cannot say which
}

// fenced tells whether the answer to this SET comes with a stamp.
func (o *op) fenced() bool {
	return o.claim.attempt.Fencing != nil && (o.kind == kindSet || o.ask.question == askAgain)
}

// settleRelease draws from what became of a release whether the node is rid of the token.
func (n *lane) settleRelease(o *op, cause error, now time.Duration) {
	c := o.claim
	tried := c.tried
	c.tried = tried || o.asked
	if c.clear() {
		o.answer = c.settled()
		return // a hand is told what the node says of the queue all the same
	}
	o.answer, o.mayHold, o.cause = quorum.NoAnswer, true, cause
	if o.status() == answered {
		o.answer, o.cause = o.releaseAnswer(tried)
	}
	switch {
	case c.state == stateErrored && o.asked,
		c.state != stateUnknown && o.answer != quorum.NoAnswer:
		c.state, c.answer = stateNone, o.answer
		o.mayHold = o.answer == quorum.NoAnswer
		n.debts.drop(c)
	case !n.dead:
		n.debts.owe(c, now).settle(&n.debts, o.status() == answered, now)
	}
}

// inherit notes that the node may carry the token that this one took over: where the take-over did not reach it, it does, and
// one release settles that.
func (c *claim) inherit() {
	switch {
	case c.state == stateNone:
		c.state = stateErrored
	case c.prior == stateNone:
		c.prior = stateErrored
	}
}

// clear tells that nothing of the token is on the node, nor on its way there.
func (c *claim) clear() bool { return c.state == stateNone || c.state == stateRefused }

// settled is the answer for a claim of which nothing is left on the node.
func (c *claim) settled() quorum.Answer {
	if c.answer == quorum.AnswerOpen || c.answer == quorum.NoAnswer {
		return quorum.Clear
	}
	return c.answer
}

// releaseAnswer reads an answered release by its shape. Where a release was tried before, it may have deleted the key and
// its answer got lost: then that the key is absent, or somebody else's by now, is no sign that the lock was lost. (A key that
// was left alone, and is gone, is one.)
func (o *op) releaseAnswer(tried bool) (quorum.Answer, error) {
	v, err := o.Result()
	switch {
	case err == redis.Nil: //nolint:errorlint // no script of ours answers with the bare nil reply
		return quorum.NoAnswer, ErrShape
	case err != nil:
		return quorum.NoAnswer, err
	}
	if list, ok := v.([]any); ok && o.hand != nil && len(list) > 1 {
		v = list[0]
	}
	tried = tried && o.claim.attempt.End != Leave
	switch {
	case v == int64(1), tried && (v == int64(0) || v == int64(-1)):
		return quorum.Deleted, nil
	case v == int64(0):
		return quorum.Absent, nil
	case v == int64(-1):
		return quorum.Foreign, nil
	default:
		return quorum.NoAnswer, ErrShape
	}
}
