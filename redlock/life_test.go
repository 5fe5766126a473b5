package redlock

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// validity is how long a lock lasts that was had at once.
const validity = ttl - drift

// primed is a cluster whose masters know all scripts, so that every operation takes one round trip.
func primed(t *testing.T, n int, opts ...Option) *cluster {
	t.Helper()
	c := newCluster(t, n, opts...)
	for _, m := range c.masters {
		m.load()
	}
	now := c.core.clock.Now() // what the nodes' clocks show is known, as after a first fence
	c.core.nodeTime.learn([]quorum.Stamp{{Time: time.Now().UnixMicro()}}, now, now)
	return c
}

// mustHold acquires the key on all masters, which all have granted it when this returns.
func (c *cluster) mustHold(t *testing.T, key string, opts ...LockOption) *Lock {
	t.Helper()
	lock := c.mustTryLock(t, key, opts...)
	synctest.Wait()
	return lock
}

// carriers are the masters that carry the lock's token under its key.
func (c *cluster) carriers(lock *Lock) []int {
	var all []int
	for i, m := range c.masters {
		if m.values()[lock.round().core.prefix+lock.Key()] == lock.round().bid.Token {
			all = append(all, i)
		}
	}
	return all
}

// pending tells whether a channel is not closed yet.
func pending(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// suspended is a clock that leaps with the system's suspend; its timers stand still meanwhile.
type suspended struct {
	clock.Clock
	slept atomic.Int64
}

func (s *suspended) Now() time.Duration { return s.Clock.Now() + time.Duration(s.slept.Load()) }

// recorded is what hooks were told, in the order in which they were.
type recorded struct {
	mu  sync.Mutex
	all []any
}

// hooks are hooks that write everything down.
func (r *recorded) hooks() Hooks {
	return Hooks{
		Attempt:  func(_ context.Context, a Attempt) { r.add(a) },
		Vote:     func(_ context.Context, v Vote) { r.add(v) },
		Acquired: func(_ context.Context, a Acquisition) { r.add(a) },
		Extended: func(_ context.Context, e Extension) { r.add(e) },
		Jeopardy: func(_ context.Context, j Jeopardy) { r.add(j) },
		Lost:     func(_ context.Context, l Loss) { r.add(l) },
		Released: func(_ context.Context, r2 Release) { r.add(r2) },
		Debts:    func(_ context.Context, d Debts) { r.add(d) },
	}
}

func (r *recorded) add(event any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, event)
}

// of is what was told of one kind.
func of[T any](r *recorded) (some []T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range r.all {
		if e, ok := event.(T); ok {
			some = append(some, e)
		}
	}
	return some
}
