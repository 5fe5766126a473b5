package redlock

import (
	"context"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// hesitation is how long one more vote is waited for where the others do not decide: nobody can have the lock while those who split the
// nodes between them wait for one that hangs. Where the others took their time, who is slow does not hang.
func (c *core) hesitation(t *terms, took time.Duration) time.Duration {
	return max(min(c.nodeTimeout/4, t.backoffMax), 2*took)
}

// yield is how long a waiter stands back whose poll, which took so long, finds the key free, or coming or going: who was named asks within
// a round trip, or two where all are slow.
func (c *core) yield(took time.Duration, t *terms) time.Duration {
	return min(max(3*took, 5*time.Millisecond), c.nodeTimeout/20, t.backoffMin/2)
}

// split tells whether enough nodes have answered to win, and some of them refused. The mutex is held.
func (r *round) split() bool {
	return r.tally.Refused() > 0 && r.tally.N()-r.tally.Open() >= r.tally.Quorum()
}

// awaitSplit is await for who may go on with a round that is lost: once the votes are split it does not wait long for the rest of them.
func (r *round) awaitSplit(ctx context.Context) (quorum.Verdict, error) {
	var enough <-chan struct{} // nil until the votes are split
	stop := func() bool { return false }
	defer func() { stop() }()
	for {
		v, done := r.decided(false)
		if done {
			return v, nil
		}
		if enough == nil && r.isSplit() {
			enough, stop = r.core.after(r.core.hesitation(r.terms, r.age()))
		}
		select {
		case <-r.changed:
		case <-enough:
			return r.hurry(), nil
		case <-ctx.Done():
			return r.verdict(), ctx.Err()
		case <-r.core.gate.shut:
			return r.verdict(), ErrClosed
		}
	}
}

func (r *round) isSplit() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.split()
}

// hurry ends the waiting for votes before the node timeout.
func (r *round) hurry() quorum.Verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hasty = true
	r.tally.Expire()
	return r.tally.Verdict()
}

// isHasty tells whether some votes were not waited for.
func (r *round) isHasty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasty
}
