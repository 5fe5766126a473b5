package redlock

import (
	"math/bits"
	"slices"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// failure is the round as the caller's error. Votes that came since its verdict count in it.
func (r *round) failure(op string) *QuorumError {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.core.newError(op, r.key)
	e.Granted, e.Refused = bits.OnesCount64(r.granted), bits.OnesCount64(r.refusing())
	e.Unknown, e.Unsent = r.tally.Unknown(), r.tally.Unsent()
	switch class := r.class(); {
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

// class is that of a lost round. Where nodes that refused have granted since, they count as they are now: else an error could say
// taken, and count too few that refused. The mutex is held.
func (r *round) class() quorum.Class {
	if r.tally.Verdict() != quorum.Lost || r.won || r.shortened() {
		return quorum.ClassOpen
	}
	now := quorum.NewTally(r.tally.N())
	now.Expire() // it was lost, whatever granted since
	for i := range r.tally.N() {
		switch v := r.tally.Vote(i); {
		case v == quorum.VoteOpen:
		case r.granted&(1<<i) != 0:
			now.Record(i, quorum.Granted)
		default:
			now.Record(i, v)
		}
	}
	return now.Class()
}

// orElse is the round that a waiter is told of: this one, unless why it was lost is not known, and is of the one before.
func (r *round) orElse(before *round) *round {
	if r == nil || before == nil {
		return r
	}
	if r.explained() {
		return r
	}
	return before
}

// explained tells whether it is known why the round was lost.
func (r *round) explained() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.class() != quorum.ClassOpen || r.lapsed || r.outran
}

// shortened tells whether the canary alone was asked: what it said is no more than that. The mutex is held.
func (r *round) shortened() bool { return slices.Contains(r.causes, errCanaryRefused) }
