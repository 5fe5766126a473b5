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

	mu      sync.Mutex // protects what follows
	tally   quorum.Tally
	voters  uint64        // the nodes that granted within the node timeout, or to the majority that won
	causes  []error       // by node, of votes that are missing; nil while there are none
	granted uint64        // the nodes that granted, at the first question or a later one
	fastest time.Duration // the shortest time to an answer; 0 before one
	stay    stay
	timeUp  bool // the node timeout is over: no vote is waited for any more
	hasty   bool // votes that are open count for nothing, since those that came are split
	outran  bool // won, but the validity ran out before the caller could have it
	won     bool // lost at first, and won by asking again
	lapsed  bool // won, but no majority stored the fence
	waited  bool // its caller had to wait for others; set before anybody is asked
	first   int8 // the node whose vote the caller wants to see by itself; likewise, noFirst for none
}

const noFirst = -1

// begin asks every node, or, where there is a first, that one alone. Whoever calls it removes the deadline once no vote is waited for.
func (c *core) begin(call *call, first int, waited bool) *round {
	t := call.terms
	r := &round{
		core: c, terms: t, key: call.key,
		changed: make(chan struct{}, 1),
		tally:   quorum.NewTally(len(c.names)),
		first:   int8(first), waited: waited, // there are no more than quorum.MaxNodes
	}
	r.bid = node.Attempt{
		Keys: call.keys.wire, Token: t.value(newToken()), TTL: t.ttl, TTLMillis: t.ttlMillis, Voter: r, From: call.from,
		Fencing: c.fencing(call),
	}
	if len(r.bid.Keys) > 1 {
		r.bid.Blockers = new([quorum.MaxNodes]uint8)
	}
	r.sent = c.clock.Now()
	r.stay.from = r.sent
	c.votesDue.add(&r.due, r.sent, r)
	nodes := node.All
	if first != noFirst {
		nodes = 1 << first
	}
	c.group.Ask(&r.bid, nodes, r.sent, r.sent+c.nodeTimeout)
	return r
}

// validity is how long a lock of this round may be trusted at a time of the clock.
func (r *round) validity(at time.Duration) time.Duration {
	return quorum.Validity(r.terms.ttl, at-r.sent, r.terms.drift)
}

// age is how long ago the round began.
func (r *round) age() time.Duration { return r.core.clock.Now() - r.sent }

// Voted records a node's vote; the lanes call it.
func (r *round) Voted(i int, v quorum.Vote, at time.Duration, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if took := max(at-r.sent, 1); (v == quorum.Granted || v == quorum.Refused) && (r.fastest == 0 || took < r.fastest) {
		r.fastest = took
	}
	if v == quorum.Granted {
		if r.tally.Vote(i) == quorum.VoteOpen { // else it was counted as missing
			r.granted |= 1 << i
		}
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
	if verdict != quorum.VerdictOpen || int(r.first) == i || r.split() {
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
	r.core.group.Release(&r.bid, nil, withdraw, now, now+2*r.core.nodeTimeout, nil)
}
