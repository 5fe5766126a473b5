package redlock

import (
	"context"
	"math/bits"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// fire calls a hook, which cannot break the lock.
func fire[T any](ctx context.Context, hook func(context.Context, T), event T) {
	defer func() { _ = recover() }()
	hook(ctx, event)
}

func (c *call) report(ctx context.Context, r *round, number int, err error) {
	h := &c.core.hooks
	if h.Vote != nil {
		for _, v := range r.votes() {
			fire(ctx, h.Vote, v)
		}
	}
	if h.Attempt == nil {
		return
	}
	e := r.failure(c.op)
	a := Attempt{
		Key: c.key, Number: number, Elapsed: c.core.clock.Now() - r.sent,
		Granted: e.Granted, Refused: e.Refused, Unknown: e.Unknown, Unsent: e.Unsent,
	}
	if err != nil {
		a.Err = c.explain(ctx, r, err)
	}
	fire(ctx, h.Attempt, a)
}

// reportSight tells of an attempt that ended before any node was asked for the key: so many have it that it was not worth asking.
func (c *call) reportSight(ctx context.Context, s *sight, number int, began time.Duration) {
	h := &c.core.hooks
	if h.Attempt == nil {
		return
	}
	e := c.sightError(s)
	fire(ctx, h.Attempt, Attempt{
		Key: c.key, Number: number, Elapsed: c.core.clock.Now() - began, Refused: e.Refused, Unsent: e.Unsent, Err: e,
	})
}

func (r *round) votes() []Vote {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Vote
	for i, name := range r.core.names {
		v := r.tally.Vote(i)
		if v == quorum.VoteOpen {
			continue
		}
		var err error
		if r.causes != nil && r.causes[i] != nil {
			err = clean(r.causes[i], r.secrets()...)
		}
		out = append(out, Vote{Key: r.key, Node: i, Name: name, Vote: v.String(), Err: err})
	}
	return out
}

// acquired tells of a lock that was had.
func (k *Lock) acquired(ctx context.Context, attempts int) {
	if h := &k.round().core.hooks; h.Acquired != nil {
		fire(ctx, h.Acquired, Acquisition{Key: k.Key(), Fence: k.Fence(), Attempts: attempts, Remaining: k.Remaining()})
	}
}

// reportExtend tells what an Extend came to; e is nil where no node was asked.
func (k *Lock) reportExtend(ctx context.Context, e *extension, err error) {
	if e == nil {
		return
	}
	h := &e.round.core.hooks
	left := k.Remaining()
	if err == nil && h.Extended != nil {
		fire(ctx, h.Extended, Extension{Key: k.Key(), Elapsed: e.took(), Remaining: left})
	}
	if h.Jeopardy == nil || left == 0 {
		return
	}
	if err == nil {
		err = e.flaws()
	}
	if err != nil {
		fire(ctx, h.Jeopardy, Jeopardy{Key: k.Key(), Remaining: left, Err: err})
	}
}

func (e *extension) took() time.Duration { return e.round.core.clock.Now() - e.sent }

// flaws is what a won Extend found wrong, or nil.
func (e *extension) flaws() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.round.answersError("extend", &e.tally, e.causes)
	if len(err.Errs) == 0 {
		return nil
	}
	err.flawed = true
	return err
}

// tell runs f, which calls hooks, in a goroutine of its own, unless one is still under way for this lock.
func (k *Lock) tell(f func()) {
	h := &k.round().core.hooks
	if h.Extended == nil && h.Jeopardy == nil || !k.telling.begin() {
		return
	}
	go func() {
		defer k.telling.end()
		f()
	}()
}

func (k *Lock) tellLost(err error) {
	if hook := k.round().core.hooks.Lost; hook != nil {
		go fire(k.round().born, hook, Loss{Key: k.Key(), Err: err})
	}
}

func (k *Lock) tellReleased(ctx context.Context, err error) {
	if hook := k.round().core.hooks.Released; hook != nil {
		fire(ctx, hook, Release{Key: k.Key(), Err: err})
	}
}

// telling is whether a hook is under way.
type telling struct {
	mu   sync.Mutex
	busy bool
	more bool // something happened meanwhile
}

func (t *telling) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy {
		t.more = true
		return false
	}
	t.busy = true
	return true
}

// end tells whether something happened meanwhile.
func (t *telling) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	more := t.more
	t.busy, t.more = false, false
	return more
}

// troubled tells the hook that a node's queue is of no use.
func (c *core) troubled(n int, err error) {
	hook := c.hooks.Trouble
	if hook == nil || err == nil || !c.troubles[n].begin() {
		return
	}
	go func() {
		defer c.troubles[n].end()
		ctx := context.Background() //nolint:forbidigo // nobody's call
		fire(ctx, hook, Trouble{Node: n, Name: c.names[n], Err: &NodeError{Index: n, Name: c.names[n], Err: clean(err, "")}})
	}()
}

// owing tells the hook of a node's debts; the lanes call it.
func (c *core) owing(n int) {
	if !c.debtors[n].begin() {
		return
	}
	go func() {
		for again := true; again; {
			ctx := context.Background() //nolint:forbidigo // nobody's call
			fire(ctx, c.hooks.Debts, Debts{Node: n, Name: c.names[n], Owed: c.group.Debts()[n]})
			again = c.debtors[n].end() && c.debtors[n].begin()
		}
	}()
}

// sightError is the error of an attempt that ended so.
func (c *call) sightError(s *sight) *QuorumError {
	e := c.core.newError(c.op, c.key)
	e.Refused, e.Unsent = bits.OnesCount64(s.held), bits.OnesCount64(s.free|s.silent)
	e.classes = []error{ErrTaken, ErrNotAcquired}
	return e
}
