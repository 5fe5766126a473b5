package quorum_test

import (
	"context"
	"time"

	"github.com/quorumlock/go-redlock/redlock"
)

// fencing is what every other key is locked with.
var fencing = []redlock.LockOption{redlock.WithFencing()}

func isFenced(key int) bool { return key%2 == 1 }

// once takes a lock, has it for a while, and gives it back. What it notes is when it could trust the lock: from the return of the call
// that took it to the end of its validity, or to the moment before it gives it back.
func (c *caller) once(ctx context.Context) error {
	key := loadHot + c.random.IntN(c.keys-loadHot)
	if c.random.IntN(16) == 0 {
		key = c.random.IntN(loadHot)
	}
	lock, from, err := c.take(ctx, key)
	if err != nil {
		return c.failed(err)
	}
	c.taken++
	h := hold{from, from.Add(lock.Remaining())} // asked for later than from: never too long
	switch {
	case isFenced(key):
		c.present(lock, key)
	case from.Before(h.to):
		c.judge.acquisitions.Add(1)
	default:
		c.judge.late.Add(1)
	}
	c.keep(ctx, lock, &h)
	end := h.to
	if given := time.Now(); given.Before(end) {
		h.to = given
	}
	c.judge.held(key, h)
	c.writeLate()
	return c.giveBack(ctx, lock, end)
}

// take has a key at once or not at all, or waits for one of those that many want.
func (c *caller) take(ctx context.Context, key int) (*redlock.Lock, time.Time, error) {
	var terms []redlock.LockOption
	if isFenced(key) {
		terms = fencing
	}
	if key >= loadHot {
		lock, err := c.l.TryLock(ctx, c.names[key], terms...)
		return lock, time.Now(), err
	}
	ctx, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	lock, err := c.l.Lock(ctx, c.names[key], terms...)
	return lock, time.Now(), err
}

// keep keeps a lock in one of the ways there are: for no time, for a moment, extended, until it runs out, and kept alive for longer
// than it lives.
func (c *caller) keep(ctx context.Context, lock *redlock.Lock, h *hold) {
	const moment = time.Millisecond
	look := func() {
		now := time.Now()
		if left := lock.Remaining(); left > 0 {
			h.to = now.Add(left) // asked for earlier than it was looked at: never too long
		}
	}
	switch way := c.random.IntN(1000); {
	case way == 0:
		time.Sleep(lock.Remaining())
	case way == 1:
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		kept := keep(ctx, lock)
		// Each look is later than the one before by far less than a TTL, which is what an extension gives: it is not missed.
		for end := time.Now().Add(2 * loadTTL); time.Now().Before(end) && lock.Err() == nil; time.Sleep(5 * time.Millisecond) {
			look()
		}
		stop()
		_ = kept() // however it ended: what the lock says counts
		look()
	case way < 20:
		upTo(c.random, moment)
		_ = lock.Extend(ctx) // likewise
		look()
	case way < 500:
		upTo(c.random, moment)
	}
}
