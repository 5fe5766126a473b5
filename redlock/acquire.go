package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// TryLock makes one attempt to take the lock on key and returns within the node timeout, or when ctx ends. It never waits
// for a turn: it barges past callers of [Locker.Lock], here and in other processes. One loop of it takes most of the turns from those
// who wait, and four leave them next to nothing (measured in docs/contention.md): whoever wants a turn calls Lock.
//
// With a nil error the lock is held for [Lock.Remaining]. With an error nothing is held, and what may have reached a node is
// being undone, whether or not ctx lives. The error is a [*QuorumError], or ErrInvalid or ErrClosed; nothing was sent if ctx
// had ended before.
func (l *Locker) TryLock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	c, err := l.call(ctx, "trylock", key, opts)
	if err != nil {
		return nil, err
	}
	lock, r, err := c.attempt(ctx, 1, true, nil)
	if err != nil {
		return nil, c.explain(ctx, r, err)
	}
	return lock, nil
}

// Lock takes the lock on key, and waits for it until ctx ends (or for the attempts of [WithMaxAttempts]). Callers of Lock for one key
// in one process are served first in, first out, and processes take turns: whoever gives the lock back names the next. Where that
// fails, and after a holder that died, waiters ask after a random pause ([WithBackoff]), which is longer the more of them there are.
//
// It returns at once where waiting cannot help: when a majority of the nodes refuses our credentials or rights. What holds
// after the call is as for [Locker.TryLock]; the error of a wait that ctx ended tells of the last attempt
// whose outcome was known, too.
func (l *Locker) Lock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	c, err := l.call(ctx, "lock", key, opts)
	if err != nil {
		return nil, err
	}
	w := c.core.lines.join(c.keys.line)
	until := time.Duration(0) // the end of the lock
	defer func() { c.core.lines.leave(w, until) }()
	if err := c.waitTurn(ctx, w); err != nil {
		return nil, c.explain(ctx, nil, err)
	}
	q := &queuer{call: &c, w: w}
	lock, err := c.attempts(ctx, q)
	q.end(lock != nil)
	if lock != nil {
		until = lock.round().end()
	}
	return lock, err
}

// attempts makes attempts, with pauses in which the caller waits in the queue, until one succeeds or none can.
func (c *call) attempts(ctx context.Context, q *queuer) (*Lock, error) {
	if err := c.standBack(ctx, q); err != nil {
		return nil, c.explain(ctx, nil, err)
	}
	if c.terms.maxAttempts == 0 && c.core.lines.heldHere(q.w, c.core.clock.Now()) {
		if err := q.await(ctx, nil); err != nil {
			return nil, c.explainWait(ctx, nil, q, err)
		}
	}
	var known *round // the one before
	for {
		q.tries++
		last := q.tries == c.terms.maxAttempts
		lock, r, err := c.attempt(ctx, q.tries, last, q)
		switch {
		case err == nil:
			return lock, nil
		case last || !errors.Is(err, errLostRound) || r.failure(c.op).barred():
			return nil, c.explainLast(ctx, r, known, q, err)
		}
		known = r.orElse(known)
		if r.explained() {
			q.sight = nil
		}
		if err := q.await(ctx, r); err != nil {
			return nil, c.explainWait(ctx, known, q, err)
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
func (c *call) attempt(ctx context.Context, number int, last bool, q *queuer) (*Lock, *round, error) {
	lock, r, err := c.contend(ctx, last, q)
	if r != nil {
		c.report(ctx, r, number, err)
	}
	if lock != nil {
		lock.acquired(ctx, number)
	}
	return lock, r, err
}

// contend is the attempt without its hooks, which may take their time: Close waits for what is in here.
func (c *call) contend(ctx context.Context, last bool, q *queuer) (*Lock, *round, error) {
	if err := c.core.gate.enter(); err != nil {
		return nil, nil, err
	}
	defer c.core.gate.leave()
	r, err := c.ask(ctx, last, q)
	defer c.core.votesDue.remove(&r.due)
	verdict := r.verdict()
	if err == nil {
		verdict, err = c.decide(ctx, r, last, q)
	}
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

// decide waits for the verdict, and for what the persistent can make of a lost round. The last attempt of a call waits for all that its
// error is to tell.
func (c *call) decide(ctx context.Context, r *round, last bool, q *queuer) (verdict quorum.Verdict, err error) {
	persistent := q != nil
	if persistent && !last && !q.rushed {
		verdict, err = r.awaitSplit(ctx)
	} else {
		verdict, err = r.await(ctx, false)
	}
	if persistent && err == nil && verdict == quorum.Lost && r.persist(ctx) {
		verdict = quorum.Won
	}
	if persistent {
		q.rushed = r.isHasty()
	}
	return verdict, err
}

// ask begins a round: with the canary where the caller heard there that the key is free, as others may have heard with it; and with the rest
// only if it says yes. Who was named is the only one, and asks all at once; but anybody may publish a name, so after one hint in vain it
// asks the canary first, too.
func (c *call) ask(ctx context.Context, last bool, q *queuer) (*round, error) {
	if q == nil || last || !q.wasFree && (!q.named || !q.vain) {
		return c.core.begin(c, noFirst, q != nil && q.waited), nil
	}
	r := c.core.begin(c, q.node, true)
	return r, r.askRest(ctx, q.node)
}
