package redlock

import (
	"context"
	"errors"
)

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

// explainLast is the caller's error for a call that ended in its round r.
func (c *call) explainLast(ctx context.Context, r, known *round, q *queuer, err error) error {
	if q.sight != nil && (r == nil || !r.explained()) {
		return c.explainWait(ctx, known, q, err)
	}
	return c.explain(ctx, r.orElse(known), err)
}

// explainWait is that for a call that ended while it waited: what it saw since the round that is known counts.
func (c *call) explainWait(ctx context.Context, known *round, q *queuer, err error) error {
	if q.sight == nil || errors.Is(err, ErrClosed) || errors.Is(err, errLostRound) {
		return c.explain(ctx, known, err)
	}
	e := c.sightError(q.sight)
	e.addContext(ctx, err)
	return e
}
