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
// Its methods may be called from several goroutines at once.
type Lock struct {
	// Set once. It is atomic only because package fmt does not look behind such a pointer: with a plain one the wrong verb for
	// a Lock (not *Lock) would print the token.
	won atomic.Pointer[round]

	mu        sync.Mutex    // protects what follows; never held while anything is waited for
	begun     bool          // Unlock has begun
	overdue   bool          // validity had passed when it did
	unlocking bool          // an Unlock is under way
	others    chan struct{} // closed when that one ends; nil while no other waits for it
	end       error         // how the lock ended: ErrUnlocked, or an ErrLost; nil while it did not
	last      error         // what the latest Unlock came to
}

// none tells that this is no lock that was acquired: a nil or a zero handle, which is not held.
func (k *Lock) none() bool { return k == nil || k.round() == nil }

func (k *Lock) round() *round { return k.won.Load() }

// Key returns the key as it was given, without the prefix.
func (k *Lock) Key() string {
	if k.none() {
		return ""
	}
	return k.round().key
}

// Remaining returns for how long the lock may still be trusted: its TTL less the time since it was asked for, and less the
// drift of the clocks. It is 0 once that is over, and once the lock was given back. It asks no node.
func (k *Lock) Remaining() time.Duration {
	if k.none() {
		return 0
	}
	now := k.round().core.clock.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.begun {
		return 0
	}
	return k.round().validity(now)
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

// Unlock gives the lock back on every node. It is detached from ctx's cancellation, so that a deferred Unlock works after
// the request it served is over, and it returns within twice the node timeout. ctx's values reach the hooks.
//
// nil: the lock was held until now, and fewer than a quorum of the nodes may still carry it. ErrLost: its validity had
// passed before the first Unlock began, or somebody else may have had it meanwhile; it is given back all the same.
// ErrNoQuorum, in a *QuorumError that names the nodes: too few nodes confirmed; each may keep the key until its TTL, Unlock
// may be called again, and the library goes on trying by itself. ErrUnlocked, without asking a node: an Unlock before
// succeeded. Of several calls at once one succeeds and the others wait for it.
func (k *Lock) Unlock(ctx context.Context) error {
	switch {
	case k.none():
		return ErrUnlocked
	case ctx == nil:
		return invalid("context is nil")
	}
	now := k.round().core.clock.Now()
	others, end := k.beginUnlock(now)
	switch {
	case others != nil:
		<-others // cannot be for long: an Unlock is bounded, and the end of this one is ours too
		return k.echo()
	case end != nil:
		return end
	}
	err := k.release(now)
	k.endUnlock(err)
	return err
}

// beginUnlock marks the lock as no longer held. It tells how it ended if it did before, or else what to wait for if another
// Unlock is under way.
func (k *Lock) beginUnlock(now time.Duration) (others <-chan struct{}, end error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unlocking {
		if k.others == nil {
			k.others = make(chan struct{})
		}
		return k.others, nil
	}
	if !k.begun {
		k.begun = true
		k.overdue = k.round().validity(now) == 0
	}
	k.unlocking = k.end == nil
	return nil, k.end
}

func (k *Lock) endUnlock(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last, k.unlocking = err, false
	switch {
	case err == nil:
		k.end = ErrUnlocked
	case isLost(err):
		k.end = err
	}
	if k.others != nil {
		close(k.others)
		k.others = nil
	}
}

// echo is what an Unlock returns that waited for another one.
func (k *Lock) echo() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.end != nil {
		return k.end
	}
	return k.last
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
	return slog.GroupValue(slog.String("key", k.Key()), slog.Duration("remaining", k.Remaining()))
}
