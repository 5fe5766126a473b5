package sim

import (
	"context"
	"time"

	"github.com/quorumlock/go-redlock/redlock"
)

// giveUp ends a hold in one of the ways there are.
func (c *client) giveUp(ctx context.Context, h *hold) {
	w, d := c.world, &c.dice
	h.give()
	switch way := d.below(20); {
	case way == 0: // the client dies, so that nobody gives the lock back
		w.check.spare(h.keys)
		w.note(c, "dies with "+h.keys[0])
		h.lock.Detach()
	case way == 1:
		w.note(c, "leaves "+h.keys[0])
		if err := h.lock.Leave(ctx, d.between(time.Millisecond, w.plan.ttl)); err != nil {
			w.noteErr(c, "left", err)
		}
		w.check.spare(h.keys)
	case way == 2 && !w.scenario.Broken():
		c.handOver(ctx, h)
	default:
		c.unlock(ctx, h)
	}
}

func (c *client) unlock(ctx context.Context, h *hold) {
	w := c.world
	w.note(c, "unlocks "+h.keys[0])
	began := w.now()
	over := h.lock.Err() != nil || !h.kept && c.local(began) >= h.until
	err := h.lock.Unlock(ctx)
	c.intime("Unlock", began, 2)
	if over && err == nil {
		w.violation("I2: Unlock of %s said nothing of a lock that was lost", c.name())
	}
	if err != nil {
		w.noteErr(c, "unlocked", err)
	}
}

// handOver gives the lock to another client by its token.
func (c *client) handOver(ctx context.Context, h *hold) {
	w, d := c.world, &c.dice
	to := w.clients[d.below(len(w.clients))].other(throw(d.next()))
	w.note(c, "hands "+h.keys[0]+" to "+to.name())
	token := h.lock.Detach()
	var opts []redlock.LockOption
	if len(h.keys) > 1 {
		opts = append(opts, redlock.WithKeys(h.keys[1]))
	}
	if token == "" {
		return
	}
	w.mu.Lock()
	w.check.exempt[token] = true
	w.mu.Unlock()
	floor := w.check.highest(h.keys)
	lock, err := to.locker.Resume(ctx, h.keys[0], token, opts...)
	if err != nil {
		w.noteErr(to, "did not resume", err)
		return
	}
	w.note(to, "RESUMED "+h.keys[0])
	taken := &hold{client: to, lock: lock, keys: h.keys, fence: lock.Fence(), floor: floor}
	w.check.acquired(taken)
	to.work(ctx, taken, d.between(0, w.plan.ttl/4))
	taken.give()
	to.unlock(ctx, taken)
}
