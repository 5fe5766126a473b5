package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// fencing is what a fenced attempt tells the nodes beside; nil where it is not fenced.
func (c *core) fencing(call *call) *node.Fencing {
	if !call.terms.fenced {
		return nil
	}
	f := &node.Fencing{Seed: c.nodeTime.seed(c.clock.Now()), Retention: call.terms.retention.Milliseconds(), Stamps: make([]quorum.Stamp, len(c.names))}
	for _, key := range call.keys.wire {
		f.Counters = append(f.Counters, c.helper(counterTag, key))
	}
	return f
}

// checkWall refuses to make fences where the wall clock shows no year of theirs. Nothing in them comes from it, but where it does
// not know the century the nodes' may not either.
func (c *core) checkWall() error {
	wall := c.clock.Wall()
	if _, ok := quorum.Seed(wall); !ok {
		return invalid("wall clock %v is not between 1970 and 2112", wall)
	}
	return nil
}

// number gives a fenced round that was won its fence, and sees to it that a majority of the nodes has it stored: where they
// did not all come to the same number, that takes a second round trip. Every later majority has a node in common with this
// one, so whoever comes later gets a larger number.
func (r *round) number(ctx context.Context) error {
	if r.bid.Fencing == nil {
		return nil
	}
	fence, stored := r.decideFence()
	if !stored {
		if err := r.writeBack(ctx, fence); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bid.Fencing.Fence = fence
	return nil
}

func (r *round) decideFence() (fence int64, stored bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var stamps []quorum.Stamp
	for i := range r.core.names {
		if r.granted&(1<<i) != 0 { // until then the stamp is its lane's
			stamps = append(stamps, r.bid.Fencing.Stamps[i])
		}
	}
	r.core.nodeTime.learn(stamps, r.sent, r.core.clock.Now())
	return quorum.Fence(len(r.core.names), stamps)
}

// storing is the writing back of one fence.
type storing struct {
	round *round
	due   deadline

	mu     sync.Mutex // protects what follows
	tally  quorum.Tally
	causes []error
}

// writeBack waits until a majority of the nodes, each of which still has our keys, has stored the fence.
func (r *round) writeBack(ctx context.Context, fence int64) error {
	c := r.core
	s := &storing{round: r, tally: quorum.NewTally(len(c.names)), causes: make([]error, len(c.names))}
	now := c.clock.Now()
	c.votesDue.add(&s.due, now, s)
	defer c.votesDue.remove(&s.due)
	c.group.Raise(&r.bid, fence, s, now, now+c.nodeTimeout)
	for {
		switch s.verdict() {
		case quorum.Won:
			return nil
		case quorum.Lost:
			r.lapse(s)
			return errLostRound
		case quorum.VerdictOpen:
		}
		select {
		case <-r.changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.gate.shut:
			return ErrClosed
		}
	}
}

func (s *storing) verdict() quorum.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tally.Verdict()
}

// Heard records whether a node has stored the fence; the lanes call it.
func (s *storing) Heard(i int, reply *node.Reply, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch reply.Confirmation {
	case quorum.Confirmed:
		s.tally.Record(i, quorum.Granted)
	case quorum.Gone:
		s.tally.Record(i, quorum.Refused)
		s.causes[i] = gone(reply)
	default:
		s.tally.Record(i, quorum.Unknown)
		s.causes[i] = reply.Err
	}
	s.round.notify()
}

// endTime ends the waiting.
func (s *storing) endTime() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.Expire()
	for i := range s.causes {
		if s.tally.Vote(i) == quorum.VoteOpen {
			s.causes[i] = errNodeTimeout
		}
	}
	s.round.notify()
}

// lapse notes that the round was won in vain.
func (r *round) lapse(s *storing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lapsed = true
	for i, err := range s.causes {
		if err != nil {
			r.blame(i, err)
		}
	}
}

// Fence returns the lock's fencing token, 0 where [WithFencing] was not given. It is larger than that of every earlier holder of
// any of its keys (the package's documentation says what that takes), and stays the same for as long as the lock is held. Pass
// it along with every write to what the lock guards, and let the resource refuse what is below the largest it has seen.
func (k *Lock) Fence() int64 {
	if k.none() {
		return 0
	}
	r := k.round()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fenceLocked()
}

// fenceLocked is the lock's fence, 0 for none. The mutex is held.
func (r *round) fenceLocked() int64 {
	if r.bid.Fencing == nil {
		return 0
	}
	return r.bid.Fencing.Fence
}
