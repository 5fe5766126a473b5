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

// Attempt is one token's bid for one key on every node of a [Group]. The exported fields are set before [Group.Ask] and
// only read after.
type Attempt struct {
	Key   any           // the key on the wire: a string, boxed once for all the commands that name it
	Token any           // the token: likewise
	TTL   time.Duration // whole milliseconds, as TTLMillis
	// TTLMillis is what the nodes are told: an int64, boxed by the caller, who mostly has it from its settings.
	TTLMillis any
	Voter     Voter

	claims []claim
}

// state is what is known of a token on one node.
type state uint8

const (
	stateNone    state = iota // nothing of the token is there, and nothing will come
	stateQueued               // its SET waits in the lane
	stateFlying               // its SET left with a batch that is not back
	stateGranted              // its SET was answered with yes
	stateRefused              // its SET was answered with no
	stateErrored              // its SET was answered with an error: hardly applied, undone once all the same
	stateUnknown              // its SET was not answered: it was applied, or never will be, or is still on its way
)

// claim is one token on one node. The node's mutex guards it.
type claim struct {
	attempt *Attempt
	set     *op           // its SET while queued
	debt    *debt         // nil where nothing is owed
	answer  quorum.Answer // how it was released for good; AnswerOpen until then
	state   state
	tried   bool // a release may already have run
}

func (c *claim) key() string { return c.attempt.Key.(string) }

func (a *Attempt) setArgs() []any {
	return []any{"set", a.Key, a.Token, "nx", "px", a.TTLMillis}
}

func (a *Attempt) releaseArgs() []any {
	return releaseScript.args(a.Key, a.Token)
}

// settleSet draws the vote from what became of a SET.
func (n *lane) settleSet(o *op, cause error) {
	c := o.claim
	c.set = nil
	switch o.status() {
	case unsent:
		c.state, o.vote, o.cause = stateNone, quorum.Unsent, cause
		n.debts.drop(c) // cannot be owed: the node never got it
	case unknown:
		c.state, o.vote, o.cause = stateUnknown, quorum.Unknown, cause
	case answered:
		c.state, o.vote, o.cause = o.setAnswer()
		if c.state == stateRefused {
			n.debts.drop(c)
			if n.owes(c.key()) {
				o.vote, o.cause = quorum.Unknown, ErrOwed
			}
		}
	}
}

// setAnswer reads an answered SET by its shape; whatever else came may be the answer to another command, so the SET's own
// fate is unknown.
func (o *op) setAnswer() (state, quorum.Vote, error) {
	switch v, err := o.Result(); {
	case err == redis.Nil: //nolint:errorlint // only the bare nil reply is the refusal
		return stateRefused, quorum.Refused, nil
	case err != nil:
		return stateErrored, quorum.Unknown, err
	case v == "OK":
		return stateGranted, quorum.Granted, nil
	default:
		return stateUnknown, quorum.Unknown, ErrShape
	}
}

// settleRelease draws from what became of a release whether the node is rid of the token.
func (n *lane) settleRelease(o *op, cause error, now time.Duration) {
	c := o.claim
	tried := c.tried
	c.tried = tried || o.asked
	if c.clear() {
		o.answer = c.settled()
		return
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
// its answer got lost: then that the key is absent, or somebody else's by now, is no sign that the lock was lost.
func (o *op) releaseAnswer(tried bool) (quorum.Answer, error) {
	v, err := o.Result()
	switch {
	case err == redis.Nil: //nolint:errorlint // no script of ours answers with the bare nil reply
		return quorum.NoAnswer, ErrShape
	case err != nil:
		return quorum.NoAnswer, err
	}
	switch v {
	case int64(1):
		return quorum.Deleted, nil
	case int64(0):
		if tried {
			return quorum.Deleted, nil
		}
		return quorum.Absent, nil
	case int64(-1):
		if tried {
			return quorum.Deleted, nil
		}
		return quorum.Foreign, nil
	default:
		return quorum.NoAnswer, ErrShape
	}
}
