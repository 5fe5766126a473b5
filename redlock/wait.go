package redlock

import "context"

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

// standBack waits until it is known who comes next for a key that was released here a moment ago, and queues behind whom another
// process was told of.
func (c *call) standBack(ctx context.Context, q *queuer) error {
	for {
		elsewhere, unknown := c.core.lines.next(c.keys.line, c.core.clock.Now())
		switch {
		case elsewhere:
			q.enter(nil, true)
			return q.await(ctx, nil)
		case unknown == 0:
			return nil
		}
		over, stop := c.core.after(unknown - c.core.clock.Now())
		select {
		case <-over:
		case <-q.w.wake:
		case <-ctx.Done():
			stop()
			return ctx.Err()
		case <-c.core.gate.shut:
			stop()
			return ErrClosed
		}
		stop()
	}
}
