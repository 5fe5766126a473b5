package redlock

import (
	"errors"
	"math/bits"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func isLost(err error) bool { return errors.Is(err, ErrLost) }

// release is one Unlock: the release of a token on every node, and the answers.
type release struct {
	round *round
	due   deadline

	mu     sync.Mutex // protects what follows; never held while the round's is asked for
	tally  quorum.Release
	timeUp bool
	causes []error // by node, of answers that are missing; nil while there are none
	// The nodes that answered; how many of them are rid of the token, and how many carry another's.
	answered     uint64
	rid, foreign int
}

// release releases the round's token everywhere and waits for the outcome, at most for twice the node timeout: once for a
// straggler of the acquisition that is still under way, once for the release behind it.
func (k *Lock) release(now time.Duration) error {
	r := k.round()
	c := r.core
	rel := &release{round: r, tally: quorum.NewRelease(len(c.names))}
	c.answersDue.add(&rel.due, now, rel)
	hands := r.hands()
	c.group.Release(&r.bid, rel, true, now, now+c.answersDue.wait, hands)
	outcome := rel.await()
	c.answersDue.remove(&rel.due)
	if hands == nil && outcome != quorum.NotReleased {
		c.lines.hint(lineOf(r.bid.Keys))
	}
	if outcome == quorum.Released && !k.overdue {
		return nil
	}
	return rel.failure(k, outcome)
}

// await waits for the outcome, or takes what it is when the time is up.
func (rel *release) await() quorum.Outcome {
	for {
		if out := rel.outcome(); out != quorum.OutcomeOpen {
			return out
		}
		<-rel.round.changed // cannot be for ever: endTime comes
	}
}

func (rel *release) outcome() quorum.Outcome {
	rel.mu.Lock()
	defer rel.mu.Unlock()
	if rel.timeUp {
		return rel.tally.Final()
	}
	out := rel.tally.Outcome()
	if out == quorum.LostLock && !rel.takenKnown() {
		return quorum.OutcomeOpen
	}
	return out
}

// takenKnown tells whether the open answers cannot change any more that somebody else may have the lock: what a caller is
// told must not depend on the order of the answers. The mutex is held.
func (rel *release) takenKnown() bool {
	n := len(rel.round.core.names)
	open := n - bits.OnesCount64(rel.answered)
	return rel.taken() || rel.foreign+open <= n-quorum.Size(n)
}

// taken tells whether another's token is on so many nodes that somebody else may have the lock. The mutex is held.
func (rel *release) taken() bool {
	n := len(rel.round.core.names)
	return rel.foreign > n-quorum.Size(n)
}

// endTime ends the waiting for answers. Nodes that gave none may well have been voters, and prove no loss; who is a voter is
// settled by now, since the round began earlier than the release and no grant counts after the node timeout.
func (rel *release) endTime() {
	voters := rel.round.votersNow()
	rel.mu.Lock()
	defer rel.mu.Unlock()
	for i := range rel.round.core.names {
		if voters&(1<<i) != 0 {
			rel.tally.SetVoter(i)
		}
	}
	rel.timeUp = true
	for i := range rel.round.core.names {
		if rel.answered&(1<<i) == 0 {
			rel.blame(i, errNodeTimeout)
		}
	}
	rel.round.notify() // the round has no other listener any more
}

func (rel *release) blame(i int, cause error) {
	if rel.causes == nil {
		rel.causes = make([]error, len(rel.round.core.names))
	}
	rel.causes[i] = cause
}

// Released records a node's answer; the lanes call it.
func (rel *release) Released(i int, a quorum.Answer, mayHold bool, cause error) {
	voter := rel.round.votersNow()&(1<<i) != 0 // as it is now: a straggler's grant comes ahead of the answer to its release
	rel.mu.Lock()
	defer rel.mu.Unlock()
	if voter {
		rel.tally.SetVoter(i)
	}
	if rel.timeUp || !rel.tally.Record(i, a, mayHold) {
		return
	}
	rel.answered |= 1 << i
	switch {
	case a == quorum.Foreign:
		rel.foreign++
	case !mayHold:
		rel.rid++
	}
	if cause != nil {
		rel.blame(i, cause)
	}
	rel.round.notify()
}

// failure is the release as the caller's error.
func (rel *release) failure(k *Lock, outcome quorum.Outcome) error {
	r := rel.round
	c := r.core
	e := c.newError("unlock", r.key)
	rel.mu.Lock()
	defer rel.mu.Unlock()
	e.Granted, e.Refused = rel.rid, rel.foreign
	e.Unknown = e.Nodes - e.Granted - e.Refused
	e.Errs = c.nodeErrors(rel.causes, r.secrets())
	switch {
	case outcome == quorum.LostLock || k.overdue:
		e.classes = append(e.classes, ErrLost)
		if rel.taken() {
			e.classes = append(e.classes, ErrTaken)
		}
	default:
		e.classes = append(e.classes, ErrNoQuorum)
	}
	return e
}
