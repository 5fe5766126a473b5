package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// Leave gives the lock up but lets its keys live for rest from now, so that nobody has it before: for a job that must not run
// twice within a period. It never deletes a key, and it never makes one. Like Unlock it is detached from ctx's cancellation and
// returns within twice the node timeout. rest is cut to whole milliseconds.
//
// nil: a quorum of the nodes that made the lock ours confirmed it. ErrLost: the lock had ended before, or so many of them had
// lost it that somebody else may have it. ErrNoQuorum: too few confirmed; the others may let the key go at its TTL. Leave may
// be called again then, with the same end, and the library goes on trying by itself. ErrUnlocked: it was given up before. After
// Leave has begun, Unlock does nothing and says ErrUnlocked, so that a deferred one does no harm. ErrInvalid: rest is below
// 1 ms or above ten years.
//
// A process that dies before Leave leaves the key to its TTL: whoever must not run twice even then takes the lock with a TTL of
// the whole period.
func (k *Lock) Leave(ctx context.Context, rest time.Duration) error {
	rest = rest.Truncate(time.Millisecond)
	if rest < quorum.MinTTL || rest > quorum.MaxTTL {
		return invalid("rest %v is not from %v to %v", rest, quorum.MinTTL, quorum.MaxTTL)
	}
	return k.giveUp(ctx, byLeave, func(now time.Duration) error { return k.leave(now, rest) })
}

// leaving is one Leave: the operation on every node, and the answers.
type leaving struct {
	round *round
	due   deadline

	mu     sync.Mutex // protects what follows
	tally  quorum.Extension
	causes []error
}

func (k *Lock) leave(now, rest time.Duration) error {
	r := k.round()
	c := r.core
	if r.bid.End != node.Leave { // else it is another try: the lanes may be reading it
		r.bid.End, r.bid.Until = node.Leave, now+rest
	}
	l := &leaving{round: r, tally: quorum.NewExtension(len(c.names)), causes: make([]error, len(c.names))}
	c.answersDue.add(&l.due, now, l)
	defer c.answersDue.remove(&l.due)
	c.group.Release(&r.bid, l, true, now, now+c.answersDue.wait, nil)
	for l.verdict() == quorum.VerdictOpen {
		<-r.changed // cannot be for ever: endTime comes
	}
	return l.failure()
}

func (l *leaving) verdict() quorum.Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tally.Verdict()
}

// Released records a node's answer; the lanes call it.
func (l *leaving) Released(i int, a quorum.Answer, _ bool, cause error) {
	voter := l.round.votersNow()&(1<<i) != 0
	l.mu.Lock()
	defer l.mu.Unlock()
	if voter {
		l.tally.SetVoter(i)
	}
	l.causes[i] = cause
	switch a {
	case quorum.Deleted: // which is here: done
		l.tally.Record(i, quorum.Confirmed)
	case quorum.Absent:
		l.causes[i] = errGone
		l.tally.Record(i, quorum.Gone)
	case quorum.Foreign:
		l.causes[i] = errForeign
		l.tally.Record(i, quorum.Gone)
	default:
		l.tally.Record(i, quorum.Unconfirmed)
	}
	l.round.notify()
}

// endTime ends the waiting for answers.
func (l *leaving) endTime() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally.Expire()
	blameSilent(&l.tally, l.causes)
	l.round.notify()
}

// failure is what the answers came to, as the caller's error.
func (l *leaving) failure() error {
	r := l.round
	maybe := r.maybeVoters(r.core.clock.Now())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tally.Verdict() == quorum.Won {
		return nil
	}
	return r.extensionError("leave", &l.tally, l.causes, maybe)
}
