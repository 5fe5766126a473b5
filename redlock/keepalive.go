package redlock

import (
	"context"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// KeepAlive extends the lock again and again, from a third of its TTL on and more often after a failure, for as long as it can.
// It blocks, and keeps no goroutine but the caller's. Several locks of one Locker are extended together, up to a tenth of their
// TTL early.
//
// It returns nil once the lock was given up, ErrLost when it was lost, ctx's error when ctx ends (the lock then lives on until
// its validity passes), and ErrClosed when the Locker is closed. With [WithMaxHold] the lock is lost at that time. On a lock that
// has ended it returns ErrLost or ErrUnlocked at once, and ErrInvalid while another KeepAlive is under way.
func (k *Lock) KeepAlive(ctx context.Context) error {
	switch {
	case k.none():
		return ErrUnlocked
	case ctx == nil:
		return invalid("context is nil")
	}
	if err := k.Err(); err != nil {
		return err
	}
	k.mu.Lock()
	twice := k.kept
	k.kept = true
	k.mu.Unlock()
	if twice {
		return invalid("lock %q is kept alive already", k.Key())
	}
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.kept = false
	}()
	return k.keep(ctx)
}

func (k *Lock) keep(ctx context.Context) error {
	r := k.round()
	done := k.Done()
	for due := r.renewal(); ; {
		var wake <-chan struct{}
		leave := func() {}
		if !r.capped() {
			wake, leave = r.core.wheel.wait(due)
		}
		select {
		case <-wake:
		case <-done:
		case <-ctx.Done():
		case <-r.core.gate.shut:
		}
		leave()
		if over, err := k.keptEnough(ctx); over {
			return err
		}
		e, err := k.extend(ctx)
		k.tell(func() { k.reportExtend(ctx, e, err) })
		if due = r.renewal(); err != nil {
			due = r.retry(r.core.clock.Now())
		}
	}
}

// keptEnough tells whether there is nothing to keep alive any more, and what KeepAlive returns then. Of several ends that are
// there at once it is not chance that chooses: how the lock ended counts first, and its contexts end after it.
func (k *Lock) keptEnough(ctx context.Context) (over bool, err error) {
	switch err := k.Err(); {
	case isLost(err):
		return true, err
	case k.round().core.gate.isShut():
		return true, ErrClosed
	case err != nil: // it was given up
		return true, nil
	case ctx.Err() != nil:
		return true, ctx.Err()
	}
	return false, nil
}

// renewal is when the lock is to be extended next: a third of the TTL after it last was, less what puts it into one slot with
// others.
func (r *round) renewal() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return quorum.SlotOf(r.stay.from+r.terms.ttl/3, quorum.Slot(r.terms.ttl))
}

// retry is when an Extend that failed is repeated: soon, and the sooner the less is left.
func (r *round) retry(now time.Duration) time.Duration {
	pause := max(min(r.terms.ttl/20, r.left(now)/4), time.Millisecond)
	slot := min(quorum.Slot(r.terms.ttl), pause)
	return quorum.SlotOf(now+pause, slot) // later than now: the pause is no shorter than the slot
}
