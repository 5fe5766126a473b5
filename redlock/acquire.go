package redlock

import (
	"context"
	"errors"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// TryLock makes one attempt to take the lock on key and returns within the node timeout, or when ctx ends. It never waits
// for a turn: it barges past callers of [Locker.Lock], here and in other processes.
//
// With a nil error the lock is held for [Lock.Remaining]. With an error nothing is held, and what may have reached a node is
// being undone, whether or not ctx lives. The error is a [*QuorumError], or ErrInvalid or ErrClosed; nothing was sent if ctx
// had ended before.
func (l *Locker) TryLock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	c, err := l.call(ctx, "trylock", key, opts)
	if err != nil {
		return nil, err
	}
	lock, r, err := c.attempt(ctx, 1, true)
	if err != nil {
		return nil, c.explain(ctx, r, err)
	}
	return lock, nil
}

// Lock takes the lock on key, and waits for it until ctx ends (or for the attempts of [WithMaxAttempts]), with a random
// pause between attempts. Callers of Lock for one key in one process are served first in, first out.
//
// It returns at once where waiting cannot help: when a majority of the nodes refuses our credentials or rights. What holds
// after the call is as for [Locker.TryLock]; the error of a wait that ctx ended tells of the last attempt, too.
func (l *Locker) Lock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	c, err := l.call(ctx, "lock", key, opts)
	if err != nil {
		return nil, err
	}
	w := c.core.lines.join(c.keys.line)
	defer c.core.lines.leave(w)
	if err := c.waitTurn(ctx, w); err != nil {
		return nil, c.explain(ctx, nil, err)
	}
	for n := 1; ; n++ {
		last := n == c.terms.maxAttempts
		lock, r, err := c.attempt(ctx, n, last)
		switch {
		case err == nil:
			return lock, nil
		case last || !errors.Is(err, errLostRound) || r.failure(c.op).barred():
			return nil, c.explain(ctx, r, err)
		}
		err = c.pause(ctx, w)
		if err == nil && r.failure(c.op).barred() {
			err = errLostRound // it shows in votes for which the verdict did not wait
		}
		if err != nil {
			return nil, c.explain(ctx, r, err)
		}
	}
}

// call is one call of Lock or TryLock, checked.
type call struct {
	core  *core
	terms *terms
	op    string
	key   string
	keys  keySet
	from  any // of Resume: the token that has the keys
}

// call checks everything that can be checked before the first byte is sent.
func (l *Locker) call(ctx context.Context, op, key string, opts []LockOption) (call, error) {
	core, err := l.ready(ctx)
	if err != nil {
		return call{}, err
	}
	t, err := l.terms.with(opts, core)
	if err != nil {
		return call{}, err
	}
	keys, err := core.keySet(key, t.more)
	if err != nil {
		return call{}, err
	}
	if t.fenced {
		if err := core.checkWall(); err != nil {
			return call{}, err
		}
	}
	c := call{core: core, terms: t, op: op, key: key, keys: keys}
	if err := ctx.Err(); err != nil {
		return call{}, c.explain(ctx, nil, err)
	}
	return c, nil
}

// errLostRound says that an attempt ended by the nodes' votes or their silence, and not by the caller.
var errLostRound = errors.New("round lost")

// attempt makes one attempt with a token of its own and tells the hooks. The last one of a call waits for the class of a lost
// round; an earlier one goes on at the verdict. The error is errLostRound, ctx's, or ErrClosed; the round is being undone then,
// or is nil where it did not begin.
func (c *call) attempt(ctx context.Context, number int, last bool) (*Lock, *round, error) {
	lock, r, err := c.contend(ctx, last)
	if r != nil {
		c.report(ctx, r, number, err)
	}
	if lock != nil {
		lock.acquired(ctx, number)
	}
	return lock, r, err
}

// contend is the attempt without its hooks, which may take their time: Close waits for what is in here.
func (c *call) contend(ctx context.Context, last bool) (*Lock, *round, error) {
	if err := c.core.gate.enter(); err != nil {
		return nil, nil, err
	}
	defer c.core.gate.leave()
	r := c.core.begin(c)
	defer c.core.votesDue.remove(&r.due)
	verdict, err := r.await(ctx, false)
	if verdict == quorum.Won {
		// Also if ctx ended in the same moment: the handle is the caller's then, never a key without one. A fence that is still to
		// be stored is waited for as the votes were.
		if err = r.number(ctx); err == nil {
			err = r.win()
		}
		if err == nil {
			return c.core.handle(ctx, r), r, nil
		}
		r.giveUp(true)
		return nil, r, err
	}
	if err != nil {
		r.giveUp(true)
		return nil, r, err
	}
	r.giveUp(!last || r.overtime())
	if last {
		_, err = r.await(ctx, true)
	}
	r.settle()
	if err == nil {
		err = errLostRound
	}
	return nil, r, err
}

// explain is the caller's error for a call that ended with err, after its last round r; nil if it had none.
func (c *call) explain(ctx context.Context, r *round, err error) error {
	if errors.Is(err, ErrClosed) {
		return ErrClosed
	}
	var e *QuorumError
	if r != nil {
		e = r.failure(c.op)
	} else {
		e = c.core.newError(c.op, c.key)
		e.Unsent = e.Nodes
		e.classes = c.unasked()
	}
	if !errors.Is(err, errLostRound) {
		e.addContext(ctx, err)
	}
	return e
}

// unasked is the class of a call that asked no node.
func (c *call) unasked() []error {
	if c.op == "resume" {
		return nil
	}
	return []error{ErrNotAcquired}
}
