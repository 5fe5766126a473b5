package redlock

import (
	"context"
	"math/rand/v2"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// waitTurn waits until the caller is at the head of its key's line.
func (c *call) waitTurn(ctx context.Context, w *waiter) error {
	for !c.core.lines.heads(w) {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.core.gate.shut:
			return ErrClosed
		}
	}
	w.forget()
	return nil
}

// pause waits between two attempts: a random time, or until a hint comes. It never outlasts ctx.
func (c *call) pause(ctx context.Context, w *waiter) error {
	over := make(chan struct{})
	d := quorum.Backoff(c.terms.backoffMin, c.terms.backoffMax, rand.Uint64())
	stop := c.core.clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return nil
	case <-w.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.core.gate.shut:
		return ErrClosed
	}
}
