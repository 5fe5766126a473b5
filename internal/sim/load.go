package sim

import (
	"context"
	"errors"
	"time"

	"github.com/quorumlock/go-redlock/fence"
	"github.com/quorumlock/go-redlock/redlock"
)

// run takes its turns.
func (c *client) run(ctx context.Context) {
	for range c.world.plan.turns {
		c.nap(c.dice.between(0, c.world.plan.ttl/8))
		c.turn(ctx)
	}
}

// turn is one call, and what is done with the lock.
func (c *client) turn(ctx context.Context) {
	w, d := c.world, &c.dice
	keys := []string{w.key(d.below(w.plan.keys))}
	var opts []redlock.LockOption
	if w.plan.keys > 1 && d.often(150) {
		keys = append(keys[:0], w.key(0), w.key(1))
		opts = append(opts, redlock.WithKeys(keys[1]))
	}
	call, cancel := c.patience(ctx)
	defer cancel()
	began, floor := w.now(), w.check.highest(keys)
	w.note(c, "asks for "+keys[0])
	var lock *redlock.Lock
	var err error
	waits := d.often(500)
	if waits {
		lock, err = c.locker.Lock(call, keys[0], opts...)
	} else {
		lock, err = c.locker.TryLock(call, keys[0], opts...)
		c.intime("TryLock", began, 2)
	}
	if err != nil {
		w.count(&w.verdict.Refused)
		w.noteErr(c, "not acquired", err)
		if waits && call.Err() == nil && !errors.Is(err, redlock.ErrNotAcquired) {
			w.violation("I10: Lock of %s failed by %v", c.name(), err)
		}
		return
	}
	w.note(c, "HAS "+keys[0])
	h := &hold{client: c, lock: lock, keys: keys, fence: lock.Fence(), floor: floor, deaf: w.scenario.Deaf}
	w.check.acquired(h)
	c.hold(ctx, h)
}

// patience is how long a call may take: a deadline, or a cancel that nobody sees coming.
func (c *client) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	w, d := c.world, &c.dice
	length := d.between(0, w.plan.ttl)
	if d.often(500) {
		return context.WithTimeout(ctx, length)
	}
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(c.awake(w.now()+length, d)-w.now(), cancel)
	return ctx, func() { timer.Stop(); cancel() }
}

// hold is what is done with a lock.
func (c *client) hold(ctx context.Context, h *hold) {
	w, d := c.world, &c.dice
	length := d.between(0, w.plan.ttl/20)
	switch long := d.below(10); {
	case w.scenario.Late && c.index > 0:
		length = d.between(0, w.plan.ttl/40)
	case w.scenario.Broken() || w.scenario.Wide:
		length = d.between(w.plan.ttl/2, 2*w.plan.ttl)
	case long < 1:
		length = d.between(0, 2*w.plan.ttl)
	}
	renew, stop := context.WithCancel(ctx)
	kept := make(chan struct{})
	if length > w.plan.ttl/2 && d.often(400) && !w.scenario.Broken() {
		h.kept = true
		go func() { // ended by stop
			defer close(kept)
			_ = h.lock.KeepAlive(renew) // what it came to, Unlock says too
		}()
	} else {
		close(kept)
	}
	c.work(ctx, h, length)
	stop()
	<-kept
	c.giveUp(ctx, h)
}

// work is a few writes to what the lock protects, for as long as the lock is held, or longer where the client is deaf.
func (c *client) work(ctx context.Context, h *hold, length time.Duration) {
	w, d := c.world, &c.dice
	for end := w.now() + length; w.now() < end; {
		c.nap(min(end-w.now(), d.between(time.Millisecond, length/3+time.Millisecond)))
		if err := h.lock.Err(); err != nil && !h.deaf {
			if !errors.Is(err, redlock.ErrLost) {
				w.violation("I2: %s was told %v of a lock that it did not give up", c.name(), err)
			}
			w.note(c, "hears that it lost "+h.keys[0])
			return
		}
		c.write(h)
		if often := w.extends(); d.often(often) {
			c.extend(ctx, h)
		}
	}
}

// extends is after how many of a thousand writes a client extends. Where it is to be lost by not being extended in time, after none.
func (w *world) extends() int {
	switch {
	case w.scenario.Late:
		return 300
	case w.scenario.Broken():
		return 0
	}
	return 100
}

// extend is one Extend.
func (c *client) extend(ctx context.Context, h *hold) {
	w := c.world
	began := w.now()
	ctx, cancel := c.patience(ctx)
	defer cancel()
	err := h.lock.Extend(ctx)
	c.intime("Extend", began, 1)
	if err == nil {
		w.note(c, "extended "+h.keys[0])
		w.check.extended(h, began)
		return
	}
	w.noteErr(c, "did not extend", err)
}

// write is one write to each resource, which arrives at once or after a while, whatever became of the lock meanwhile.
func (c *client) write(h *hold) {
	if h.fence == 0 {
		return
	}
	w := c.world
	for _, key := range h.keys {
		write := func() { w.written(c, h, key) }
		if c.dice.often(500) {
			time.AfterFunc(c.dice.between(0, w.plan.ttl), write)
			continue
		}
		write()
	}
}

// written is what the resource makes of a write.
func (w *world) written(c *client, h *hold, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.resources[key]
	err := r.guard.Admit(w.ctx, h.fence)
	switch {
	case h.fence < r.highest && err == nil:
		w.violationLocked("I8: a write of %s with fence %d came through after one with %d", c.name(), h.fence, r.highest)
	case h.fence < r.highest:
		w.verdict.Stale++
	case err != nil:
		w.violationLocked("I8: a write of %s with fence %d was refused, the highest was %d: %v", c.name(), h.fence, r.highest, err)
	default:
		w.verdict.Writes++
	}
	r.highest = max(r.highest, h.fence)
}

// resource is what a lock protects.
type resource struct {
	guard   fence.Memory
	highest int64 // among the writes that came
}

// intime holds a call against I5: so many node timeouts and 50 ms, not counting its client's pauses.
func (c *client) intime(what string, began time.Duration, rounds int) {
	w := c.world
	now := w.now()
	took := now - began - c.pauses.covered(began, now)
	if bound := unrated(time.Duration(rounds)*c.timeout, c.ppm) + 50*time.Millisecond; took > bound {
		w.violation("I5: %s of %s took %v, the bound is %v", what, c.name(), took, bound)
	}
}
