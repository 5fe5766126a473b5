package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// round is one attempt: a token's SET on every node, and the votes on it. The caller's goroutine waits on it while the
// lanes' goroutines record; whatever comes after the verdict is recorded too, since a late grant widens the majority and a
// late refusal decides the class.
type round struct {
	core  *core
	terms *terms
	key   string // as the caller knows it
	bid   node.Attempt
	sent  time.Duration   // before the first byte left
	due   deadline        // the node timeout
	born  context.Context //nolint:containedctx // of the call that won it, for the Lost hook; set with the handle, nil without that

	changed chan struct{} // buffered: the caller looks again

	mu     sync.Mutex // protects what follows
	tally  quorum.Tally
	voters uint64  // the nodes that granted within the node timeout, or to the majority that won
	causes []error // by node, of votes that are missing; nil while there are none
	timeUp bool    // the node timeout is over: no vote is waited for any more
	outran bool    // won, but the validity ran out before the caller could have it
	lapsed bool    // won, but no majority stored the fence
	fence  int64
	stay   stay
}

// begin asks every node. Whoever calls it removes the deadline once no vote is waited for.
func (c *core) begin(call *call) *round {
	t := call.terms
	r := &round{
		core: c, terms: t, key: call.key,
		changed: make(chan struct{}, 1),
		tally:   quorum.NewTally(len(c.names)),
	}
	r.bid = node.Attempt{
		Keys: call.keys.wire, Token: t.value(newToken()), TTL: t.ttl, TTLMillis: t.ttlMillis, Voter: r, From: call.from,
		Fencing: c.fencing(call),
	}
	r.sent = c.clock.Now()
	r.stay.from = r.sent
	c.votesDue.add(&r.due, r.sent, r)
	c.group.Ask(&r.bid, r.sent, r.sent+c.nodeTimeout)
	return r
}

// validity is how long a lock of this round may be trusted at a time of the clock.
func (r *round) validity(at time.Duration) time.Duration {
	return quorum.Validity(r.terms.ttl, at-r.sent, r.terms.drift)
}

// Voted records a node's vote; the lanes call it.
func (r *round) Voted(i int, v quorum.Vote, at time.Duration, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v == quorum.Granted {
		if r.validity(at) == 0 {
			r.tally.Expire()
		}
		if at-r.sent <= r.core.nodeTimeout {
			r.voters |= 1 << i
		}
	}
	before := r.tally.Verdict()
	if r.tally.Record(i, v) && cause != nil {
		r.blame(i, cause)
	}
	verdict := r.tally.Verdict()
	if verdict == quorum.Won && before == quorum.VerdictOpen {
		r.keepWinners()
	}
	if verdict != quorum.VerdictOpen {
		r.notify()
	}
}

// keepWinners makes voters of all whose grants won the round: where the timer of the node timeout is late, some may have
// come after it. The mutex is held.
func (r *round) keepWinners() {
	for i := range r.tally.N() {
		if r.tally.Vote(i) == quorum.Granted {
			r.voters |= 1 << i
		}
	}
}

func (r *round) votersNow() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.voters
}

func (r *round) blame(i int, cause error) {
	if r.causes == nil {
		r.causes = make([]error, r.tally.N())
	}
	r.causes[i] = cause
}

func (r *round) notify() { notify(r.changed) }

// notify leaves a notice for who waits on a channel that holds one: with one there already, nothing is missed, since whoever looks
// sees all that happened before.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// endTime ends the waiting for votes.
func (r *round) endTime() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timeUp = true
	r.tally.Expire()
	r.notify()
}

// overtime tells whether the node timeout is over.
func (r *round) overtime() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.timeUp
}

// settle counts the votes of a lost round that did not come within the node timeout as missing.
func (r *round) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.tally.N() {
		if r.timeUp && r.tally.Record(i, quorum.Unknown) {
			r.blame(i, errNodeTimeout)
		}
	}
}

// decided tells whether the round need not be waited for: it has a verdict, and, for the patient, a lost one its class.
func (r *round) decided(patient bool) (quorum.Verdict, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.tally.Verdict()
	if v == quorum.Lost && patient {
		return v, r.tally.Class() != quorum.ClassOpen || r.timeUp
	}
	return v, v != quorum.VerdictOpen
}

// await waits for the verdict, or for its class too, until ctx ends or the Locker is closed.
func (r *round) await(ctx context.Context, patient bool) (quorum.Verdict, error) {
	for {
		if v, done := r.decided(patient); done {
			return v, nil
		}
		select {
		case <-r.changed:
		case <-ctx.Done():
			return r.verdict(), ctx.Err()
		case <-r.core.gate.shut:
			return r.verdict(), ErrClosed
		}
	}
}

func (r *round) verdict() quorum.Verdict {
	v, _ := r.decided(false)
	return v
}

// win returns errLostRound where the validity of a won round ran out since the majority was counted.
func (r *round) win() error {
	now := r.core.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outran = r.validity(now) == 0
	if r.outran {
		return errLostRound
	}
	return nil
}

// giveUp undoes the round on every node, detached from any context. Where the class is still waited for, SETs that have not
// left yet still do, ahead of their release: a node that was never asked could not say "taken".
func (r *round) giveUp(withdraw bool) {
	now := r.core.clock.Now()
	if r.bid.From != nil {
		r.bid.End = node.Restore
	}
	r.core.group.Release(&r.bid, nil, withdraw, now, now+2*r.core.nodeTimeout)
}

// failure is the round as the caller's error. Votes that came since its verdict count in it.
func (r *round) failure(op string) *QuorumError {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.core.newError(op, r.key)
	e.Granted, e.Refused = r.tally.Granted(), r.tally.Refused()
	e.Unknown, e.Unsent = r.tally.Unknown(), r.tally.Unsent()
	switch class := r.tally.Class(); {
	case class == quorum.Taken && r.bid.From != nil:
		e.classes = append(e.classes, ErrLost)
	case class == quorum.Taken:
		e.classes = append(e.classes, ErrTaken)
	case class == quorum.NoQuorum || r.lapsed:
		e.classes = append(e.classes, ErrNoQuorum)
	case class == quorum.TooSlow || r.outran:
		e.classes = append(e.classes, ErrTooSlow)
	}
	if r.bid.From == nil {
		e.classes = append(e.classes, ErrNotAcquired)
	}
	e.Errs = r.core.nodeErrors(r.causes, r.secrets())
	return e
}
