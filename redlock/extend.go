package redlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// Why a node does not carry the lock any more, or its word does not count.
var (
	errGone    = errors.New("the key is gone")
	errForeign = errors.New("the key is somebody else's")
	errStepped = errors.New("the key has far less life left than it was given: the node's clock was put forward")
)

func gone(r *node.Reply) error {
	if r.Foreign {
		return errForeign
	}
	return errGone
}

// Extend gives the lock a full TTL again, counted from the call, if it is still held. It asks every node once and returns
// within the node timeout, or when ctx ends; it sends nothing if the lock has ended.
//
// nil: a quorum of the nodes that made the lock ours still had it, and confirmed. Nodes that had lost the key get it back; they
// count again from the Extend after next. ErrNoQuorum, in a *QuorumError: too few nodes confirmed; the lock is held for as long
// as before, and Extend may be called again. ErrLost: its validity has passed, or so many nodes have lost it that no quorum of
// its own can be left. ErrUnlocked: it was given up. It sets the life to the TTL, so it does not add up, and it never shortens it.
func (k *Lock) Extend(ctx context.Context) error {
	e, err := k.extend(ctx)
	k.reportExtend(ctx, e, err)
	return err
}

func (k *Lock) extend(ctx context.Context) (*extension, error) {
	switch {
	case k.none():
		return nil, ErrUnlocked
	case ctx == nil:
		return nil, invalid("context is nil")
	}
	c := k.round().core
	now := c.clock.Now()
	switch err := k.state(now); {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, k.round().interrupted(ctx, nil)
	case c.gate.isShut():
		return nil, ErrClosed
	}
	e := &extension{
		lock: k, round: k.round(), sent: now, changed: make(chan struct{}, 1),
		tally: quorum.NewExtension(len(c.names)), causes: make([]error, len(c.names)),
	}
	c.votesDue.add(&e.due, now, e)
	defer c.votesDue.remove(&e.due)
	deadline := now + min(e.round.left(now), c.nodeTimeout) // nothing leaves once the lock has run out
	c.group.Extend(&e.round.bid, e.round.fenceNow(), e, now, deadline)
	return e, e.await(ctx)
}

// extension is one Extend: the question to every node, and the answers.
type extension struct {
	lock    *Lock
	round   *round
	sent    time.Duration
	due     deadline
	changed chan struct{} // buffered: the caller looks again

	mu     sync.Mutex // protects what follows; the round's may be asked for while it is held, not the other way round
	tally  quorum.Extension
	causes []error // by node, why it is missing
	left   bool    // the caller has gone: what it was told is not changed any more
}

// Heard records a node's answer; the lanes call it.
func (e *extension) Heard(i int, reply *node.Reply, at time.Duration) {
	e.mu.Lock()
	won := e.record(i, reply, at)
	absent := uint64(0)
	if won {
		absent = e.round.absentNodes()
	}
	lost := e.proof(at)
	e.mu.Unlock()
	e.repair(absent, at)
	if lost != nil {
		e.lock.finish(lost)
	}
	e.notify()
}

// record notes the answer, and tells whether the round is won. The mutex is held.
func (e *extension) record(i int, reply *node.Reply, at time.Duration) bool {
	r := e.round
	c := reply.Confirmation
	e.causes[i] = reply.Err
	switch {
	case c == quorum.Gone:
		e.causes[i] = gone(reply)
	case c == quorum.Confirmed && reply.Short > r.terms.drift+r.terms.ttl/10:
		c, e.causes[i] = quorum.Unconfirmed, errStepped
	}
	if r.votersNow()&(1<<i) != 0 {
		e.tally.SetVoter(i)
	}
	if r.left(at) == 0 {
		e.tally.Expire()
	}
	before := e.tally.Verdict()
	if !e.tally.Record(i, c) {
		return false // cannot be: a node answers once
	}
	r.witness(i, c, reply, at)
	won := e.tally.Verdict() == quorum.Won
	if won && before == quorum.VerdictOpen && !e.left {
		r.prolong(e.sent)
	}
	return won
}

// proof is the error of a lock that is proven to be lost, or nil. The mutex is held.
func (e *extension) proof(at time.Duration) error {
	maybe := e.round.maybeVoters(at)
	if !e.tally.Proof(maybe) {
		return nil
	}
	return e.round.extensionError("extend", &e.tally, e.causes, maybe)
}

// repair sets the keys again on nodes that lost them, unless the lock ended meanwhile: a release that has begun comes first
// on every lane, or refuses the repair.
func (e *extension) repair(nodes uint64, now time.Duration) {
	r := e.round
	if nodes == 0 || e.lock.state(now) != nil {
		return // what was said to be lost is not brought back
	}
	left := r.left(now)
	for i := range r.core.names {
		if nodes&(1<<i) != 0 && left > 0 {
			r.core.group.Repair(&r.bid, i, r.fenceNow(), &repairing{r}, now+min(left, r.core.nodeTimeout))
		}
	}
}

// repairing hears what came of a repair.
type repairing struct{ round *round }

// Heard notes that a node carries the key again; the lanes call it.
func (p *repairing) Heard(i int, reply *node.Reply, at time.Duration) {
	p.round.witness(i, reply.Confirmation, reply, at)
}

func (e *extension) notify() { notify(e.changed) }

// endTime ends the waiting for answers.
func (e *extension) endTime() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tally.Expire()
	blameSilent(&e.tally, e.causes)
	e.notify()
}

// await waits for the verdict, until ctx or the lock ends or the Locker is closed.
func (e *extension) await(ctx context.Context) error {
	for {
		e.mu.Lock()
		verdict := e.tally.Verdict()
		e.mu.Unlock()
		if over := e.lock.state(e.round.core.clock.Now()); over != nil {
			return over
		}
		switch verdict {
		case quorum.Won:
			return nil
		case quorum.Lost:
			return e.failure()
		case quorum.VerdictOpen:
		}
		select {
		case <-e.changed:
		case <-e.lock.doneNow():
		case <-ctx.Done():
			return e.leave(func() error { return e.round.interrupted(ctx, e) })
		case <-e.round.core.gate.shut:
			return e.leave(func() error { return ErrClosed })
		}
	}
}

// leave ends the call before the verdict, with that error. If the verdict was reached in the same moment, it counts.
func (e *extension) leave(why func() error) error {
	e.mu.Lock()
	e.left = true
	verdict := e.tally.Verdict()
	e.mu.Unlock()
	if verdict == quorum.Won {
		return e.lock.state(e.round.core.clock.Now())
	}
	return why()
}

func (e *extension) failure() error {
	maybe := e.round.maybeVoters(e.round.core.clock.Now())
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.round.extensionError("extend", &e.tally, e.causes, maybe)
}
