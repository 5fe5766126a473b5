package redlock

import (
	"context"
	"errors"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

var errCanaryRefused = errors.New("the canary refused, so it was not asked")

// askRest asks the other nodes once the canary, which was asked first, has granted, or does not say; if it refuses the round is lost without
// them.
func (r *round) askRest(ctx context.Context, canary int) error {
	slow, stop := r.core.after(r.core.hesitation(r.terms, 0))
	defer stop()
	for waiting := true; waiting && r.vote(canary) == quorum.VoteOpen; {
		select {
		case <-r.changed:
		case <-slow:
			waiting = false
		case <-ctx.Done():
			return ctx.Err()
		case <-r.core.gate.shut:
			return ErrClosed
		}
	}
	if r.vote(canary) != quorum.Refused {
		r.core.group.Ask(&r.bid, node.All&^(1<<canary), r.core.clock.Now(), r.sent+r.core.nodeTimeout)
		return nil
	}
	for i := range r.core.names {
		if i != canary {
			r.Voted(i, quorum.Unsent, r.sent, errCanaryRefused)
		}
	}
	return nil
}

func (r *round) vote(i int) quorum.Vote {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tally.Vote(i)
}

// persist asks the nodes that refused again, for a round that is lost but has the canary: of clients that split the nodes between
// them it is the one that goes on, and the others have given back what they had. It goes on for some times as long as the votes took to
// come, but no longer than others pause: clients that call the nodes differently have winners of their own. It tells whether the round is
// won by that.
func (r *round) persist(ctx context.Context) bool {
	if !r.hearCanaries(ctx) {
		return false
	}
	end := r.age() + min(8*r.age(), r.core.nodeTimeout, r.terms.backoffMax)
	for first := true; r.hasCanaries() && r.age() < end; first = false {
		if r.refusingNow() == 0 || !r.rest(ctx, first) {
			return false
		}
		refusing := r.refusingNow() // who granted meanwhile is not asked once more
		a := &again{round: r}
		if a.ask(refusing) && a.await(ctx) {
			return r.wonAgain()
		}
		if ctx.Err() != nil || r.core.gate.isShut() {
			return false
		}
	}
	return false
}

// hearCanaries waits for the votes of the canaries, for which the verdict did not wait: where the canary is the slowest node, all that
// split the nodes between them would give back else. It tells false where the caller has gone.
func (r *round) hearCanaries(ctx context.Context) bool {
	enough, stop := r.core.after(r.core.hesitation(r.terms, r.age()))
	defer stop()
	for _, key := range r.bid.Keys {
		for canary := r.core.canary(key); r.vote(canary) == quorum.VoteOpen && !r.tired(); {
			select {
			case <-r.changed:
			case <-enough:
				r.hurry()
			case <-ctx.Done():
				return false
			case <-r.core.gate.shut:
				return false
			}
		}
	}
	return true
}

// tired tells whether no vote is waited for any more.
func (r *round) tired() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.timeUp || r.hasty
}

// hasCanaries tells whether the canary of every key granted. A node that gave no answer is none: the lanes take it for suspect only a
// moment later, and until they do nobody could go on.
func (r *round) hasCanaries() bool {
	r.mu.Lock()
	granted, silent := r.granted, r.silent()
	r.mu.Unlock()
	for _, key := range r.bid.Keys {
		if granted&(1<<r.core.canaryBut(key, silent)) == 0 {
			return false
		}
	}
	return true
}

// silent are the nodes that are not waited for any more, or of which it is known that they gave no answer. The mutex is held.
func (r *round) silent() (nodes uint64) {
	for i := range r.core.names {
		switch r.tally.Vote(i) {
		case quorum.Granted, quorum.Refused:
		case quorum.VoteOpen:
			if r.timeUp || r.hasty {
				nodes |= 1 << i
			}
		default:
			nodes |= 1 << i
		}
	}
	return nodes
}

// refusing are the nodes that refused, and have not granted since. The mutex is held.
func (r *round) refusing() (nodes uint64) {
	for i := range r.core.names {
		if r.tally.Vote(i) == quorum.Refused {
			nodes |= 1 << i
		}
	}
	return nodes &^ r.granted
}

// rest lets the others give back what they had: for the shortest round trip at first, and then ever longer, for as long as one more
// time half of all that has passed. Where nothing is slow they have done so by the first time; where all is slow, because there are so many
// of them, it is no use to hurry.
func (r *round) rest(ctx context.Context, first bool) bool {
	r.mu.Lock()
	pause := r.fastest
	r.mu.Unlock()
	if !first {
		pause = max(pause, r.age()/2)
	}
	over, stop := r.core.after(pause)
	defer stop()
	select {
	case <-over:
		return true
	case <-ctx.Done():
	case <-r.core.gate.shut:
	}
	return false
}

// wonAgain makes voters of all that granted.
func (r *round) wonAgain() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.voters |= r.granted
	r.won = true
	return true
}

// refusingNow is refusing for who does not hold the mutex.
func (r *round) refusingNow() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refusing()
}
