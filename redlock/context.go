package redlock

import "context"

// closed is what Done returns of a handle that is no lock.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done returns a channel that is closed when the lock ends: when it is given up, or no later than the end of its validity, by a
// local timer that needs no network. After the system was suspended it is closed within 100 ms of waking. [Lock.Err] says how
// it ended. A process that is stopped cannot be told; it finds the channel closed, or about to be, when it wakes, and Err and
// Remaining right at once.
func (k *Lock) Done() <-chan struct{} {
	if k.none() {
		return closed
	}
	k.mu.Lock()
	first := k.done == nil
	if first {
		k.done = make(chan struct{})
		if k.over != nil {
			close(k.done)
		}
	}
	done, over := k.done, k.over
	k.mu.Unlock()
	if first && over == nil {
		// Before this nothing pays for it. A lock that ends meanwhile is taken off when its end comes.
		r := k.round()
		r.core.vigil.add(k, r.end(), r.core.clock.Now())
	}
	return done
}

// doneNow is Done's channel if somebody asked for it, else nil.
func (k *Lock) doneNow() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.done
}

// heir is a context that ends with the lock.
type heir struct{ cancel context.CancelCauseFunc }

// Context returns a copy of parent that is cancelled when the lock ends, as [Lock.Done] says, with ErrLost or ErrUnlocked as its
// cause. cancel releases what the context holds, and does not unlock.
func (k *Lock) Context(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancelCause(parent)
	if k.none() {
		end(ErrUnlocked)
		return ctx, func() { end(nil) }
	}
	k.Done() // from here on the lock is watched
	h := &heir{end}
	k.mu.Lock()
	over := k.over
	if over == nil {
		if k.heirs == nil {
			k.heirs = make(map[*heir]struct{})
		}
		k.heirs[h] = struct{}{}
	}
	k.mu.Unlock()
	if over != nil {
		end(over)
		return ctx, func() { end(nil) }
	}
	context.AfterFunc(ctx, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.heirs, h)
	})
	return ctx, func() { end(nil) }
}
