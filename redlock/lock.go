package redlock

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Lock is a lock that was acquired. It is a handle, not a mutex: it cannot be taken again, and no two have the same token.
// It ends once: unlocked, left, detached or lost. Its methods may be called from several goroutines at once, and each looks
// at the clock before anything else, so that a process that was stopped hears first that the lock is lost.
type Lock struct {
	// Set once. It is atomic only because package fmt does not look behind such a pointer: with a plain one the wrong verb for
	// a Lock (not *Lock) would print the token.
	won atomic.Pointer[round]

	mu      sync.Mutex         // protects what follows; never held while anything is waited for
	over    error              // how the lock ended: ErrUnlocked, or an ErrLost; nil while it is held
	done    chan struct{}      // closed then; nil while nobody asked for it
	heirs   map[*heir]struct{} // contexts that end with the lock
	way     ending             // how it is given up
	overdue bool               // it was lost before that began
	giving  bool               // a call that gives it up is under way
	others  chan struct{}      // closed when that one ends; nil while no other waits for it
	final   error              // what every later such call returns; nil while none succeeded
	last    error              // what the latest one came to
	kept    bool               // a KeepAlive is under way

	telling telling // a KeepAlive's hooks are under way
	place   place   // among the Locker's held locks; that list's mutex guards it
	watch   watch   // among those that are watched; the vigil's mutex guards it
}

// ending is how a lock is given up.
type ending uint8

const (
	notYet ending = iota
	byUnlock
	byLeave
	byDetach
)

// handle makes the handle of a round that was won.
func (c *core) handle(ctx context.Context, r *round) *Lock {
	k := &Lock{}
	k.won.Store(r)
	if c.hooks.Lost != nil {
		r.born = context.WithoutCancel(ctx)
	}
	if !c.keepOnClose {
		c.held.add(k, r.sent)
	}
	return k
}

// none tells that this is no lock that was acquired: a nil or a zero handle, which is not held.
func (k *Lock) none() bool { return k == nil || k.round() == nil }

func (k *Lock) round() *round { return k.won.Load() }

// Key returns the key as it was given, without the prefix: of a lock on several, the one of the call.
func (k *Lock) Key() string {
	if k.none() {
		return ""
	}
	return k.round().key
}

// Remaining returns for how long the lock may still be trusted: its TTL less the time since it was asked for, or last extended,
// and less the drift of the clocks. It is 0 once the lock has ended. It asks no node.
func (k *Lock) Remaining() time.Duration {
	if k.none() {
		return 0
	}
	now := k.round().core.clock.Now()
	if k.state(now) != nil {
		return 0
	}
	return k.round().left(now)
}

// Until returns when Remaining will be 0, for people: it carries no monotonic reading and moves with the wall clock, so
// nothing should be decided by it. It is the zero time once Remaining is 0.
func (k *Lock) Until() time.Time {
	left := k.Remaining()
	if left == 0 {
		return time.Time{}
	}
	return k.round().core.clock.Wall().Add(left)
}

// Err returns nil while the lock is held, and then how it ended: ErrLost, or ErrUnlocked once Unlock, Leave, Detach or the
// Locker's Close has begun to give it up. It asks no node.
func (k *Lock) Err() error {
	if k.none() {
		return ErrUnlocked
	}
	return k.state(k.round().core.clock.Now())
}

// state returns how the lock ended, and ends it if its validity has passed.
func (k *Lock) state(now time.Duration) error {
	k.mu.Lock()
	over := k.over
	k.mu.Unlock()
	if over == nil && k.round().left(now) == 0 {
		k.finish(fmt.Errorf("%w: the validity of %q has passed", ErrLost, k.Key()))
		return k.state(now)
	}
	return over
}

// finish ends the lock, unless it has ended: it tells who waits, and cancels the contexts made of it.
func (k *Lock) finish(err error) {
	k.mu.Lock()
	first := k.over == nil
	heirs := k.settle(err)
	k.mu.Unlock()
	if first {
		k.followUp(err, heirs)
	}
}

// settle ends the lock, unless it has ended, and returns the contexts to cancel. The mutex is held; followUp comes next, without it.
func (k *Lock) settle(err error) (heirs map[*heir]struct{}) {
	if k.over != nil {
		return nil
	}
	k.over = err
	if k.done != nil {
		close(k.done)
	}
	heirs, k.heirs = k.heirs, nil
	return heirs
}

// followUp does what follows from the end.
func (k *Lock) followUp(err error, heirs map[*heir]struct{}) {
	for h := range heirs {
		h.cancel(err)
	}
	c := k.round().core
	c.held.remove(k)
	c.vigil.forget(k)
	if isLost(err) {
		k.tellLost(err)
	}
}

// String names the key and what is left, and not the token.
func (k *Lock) String() string {
	if k.none() {
		return "redlock.Lock{}"
	}
	return fmt.Sprintf("redlock.Lock{key: %q, remaining: %v}", k.Key(), k.Remaining())
}

// Format prints String for every verb, so that no token is ever printed.
func (k *Lock) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// LogValue is the lock as structured fields, without the token.
func (k *Lock) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("key", k.Key()), slog.Duration("remaining", k.Remaining())}
	if fence := k.Fence(); fence != 0 {
		attrs = append(attrs, slog.Int64("fence", fence))
	}
	return slog.GroupValue(attrs...)
}
