package redlock

import (
	"context"
	"math/bits"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// stay is what is known of a lock while it is held; the round's mutex guards it. Which nodes are voters, those whose word says
// that the lock is ours, is the round's own: the voters of its acquisition, less those that lost the key, and more from here.
type stay struct {
	from   time.Duration   // validity counts from here: the call of the last Extend that was won, or the acquisition
	again  uint64          // nodes that have the key, and may be voters once an Extend is won that began after that
	since  []time.Duration // by node, since when; nil while there is none
	absent uint64          // nodes that have no key of ours nor of anybody, to be repaired
}

// end is when the validity is over.
func (r *round) end() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endLocked()
}

func (r *round) endLocked() time.Duration {
	end := r.stay.from + r.terms.ttl - r.terms.drift
	if hold := r.terms.maxHold; hold > 0 && hold < end-r.sent { // the sum with a hold of centuries would overflow
		end = r.sent + hold
	}
	return end
}

// left is how long the lock may still be trusted at a time of the clock.
func (r *round) left(now time.Duration) time.Duration { return max(r.end()-now, 0) }

// capped tells whether no Extend can make the lock last longer.
func (r *round) capped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endLocked()-r.sent == r.terms.maxHold
}

// prolong counts the validity from the call of an Extend that was won. Nodes that had the key again before that call are
// voters from now on: the Extend was won without them.
func (r *round) prolong(sent time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stay.from = max(r.stay.from, sent)
	for i := range r.core.names {
		if b := uint64(1) << i; r.stay.again&b != 0 && r.stay.since[i] <= sent {
			r.voters |= b
			r.stay.again &^= b
		}
	}
}

// witness draws from a node's answer what it is from now on: a voter no more, one that may be a voter again, or one to repair.
func (r *round) witness(i int, c quorum.Confirmation, reply *node.Reply, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := uint64(1) << i
	switch c {
	case quorum.Gone:
		r.voters &^= b
		r.stay.again &^= b
		r.stay.absent &^= b
		if !reply.Foreign {
			r.stay.absent |= b
		}
	case quorum.Confirmed:
		r.stay.absent &^= b
		// A SET of unknown fate may yet make a key that the node had lost, for all we would know.
		if (r.voters|r.stay.again)&b == 0 && reply.Sure {
			if r.stay.since == nil {
				r.stay.since = make([]time.Duration, len(r.core.names))
			}
			r.stay.again |= b
			r.stay.since[i] = at
		}
	case quorum.Unconfirmed, quorum.ConfirmationOpen: // says nothing
	}
}

// absentNodes are the nodes to repair.
func (r *round) absentNodes() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stay.absent
}

// maybeVoters are the nodes whose grant to the acquisition may still come in time to make them voters.
func (r *round) maybeVoters(now time.Duration) (nodes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.core.names {
		if r.tally.Vote(i) == quorum.VoteOpen && now-r.sent <= r.core.nodeTimeout {
			nodes |= 1 << i
		}
	}
	return nodes
}

func (r *round) fenceNow() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fenceLocked()
}

// blameSilent notes of every node that did not answer that it did not.
func blameSilent(tally *quorum.Extension, causes []error) {
	for i := range causes {
		if (tally.Confirmations()|tally.Gone()|tally.Missing())&(1<<i) == 0 {
			causes[i] = errNodeTimeout
		}
	}
}

// extensionError is what an Extend or a Leave that was not won came to.
func (r *round) extensionError(op string, tally *quorum.Extension, causes []error, maybe uint64) error {
	e := r.answersError(op, tally, causes)
	if !tally.Proof(maybe) {
		e.classes = append(e.classes, ErrNoQuorum)
		return e
	}
	e.classes = append(e.classes, ErrLost)
	foreign := 0
	for _, err := range causes {
		if err == errForeign { //nolint:errorlint // it is ours and comes unwrapped
			foreign++
		}
	}
	if foreign > len(causes)-e.Quorum {
		e.classes = append(e.classes, ErrTaken)
	}
	return e
}

// answersError is the answers so far, without a class. A node that has the key and is no voter proves nothing.
func (r *round) answersError(op string, tally *quorum.Extension, causes []error) *QuorumError {
	e := r.core.newError(op, r.key)
	e.Granted = bits.OnesCount64(tally.Confirmations() & tally.Voters())
	e.Refused = bits.OnesCount64(tally.Gone())
	e.Unknown = bits.OnesCount64(tally.Missing() | tally.Confirmations()&^tally.Voters())
	e.Errs = r.core.nodeErrors(causes, r.secrets())
	return e
}

// interrupted is the error of an Extend whose context ended; ext is nil where no node was asked.
func (r *round) interrupted(ctx context.Context, ext *extension) error {
	var e *QuorumError
	if ext == nil {
		e = r.core.newError("extend", r.key)
		e.Unsent = e.Nodes
	} else {
		ext.mu.Lock()
		e = r.answersError("extend", &ext.tally, ext.causes)
		ext.mu.Unlock()
	}
	e.addContext(ctx, ctx.Err())
	return e
}
