package redlock

import (
	"context"
	"errors"
	"sync"
)

// Do takes the lock on key as [Locker.Lock] does, runs fn, and gives the lock back. While fn runs the lock is kept alive, as by
// [Lock.KeepAlive]; fn's context ends with ctx, and when the lock ends, with ErrLost or ErrUnlocked as its cause: after ErrLost fn
// should return as soon as it can, for somebody else may be at work, and return context.Cause(ctx) rather than ctx.Err(), which would
// look like the caller's own cancellation. Options come from [Locker.With]: locker.With(redlock.WithTTL(d)).Do(…). Do returns when fn
// has returned and the lock is given back.
//
// The error is fn's, joined by the lock's, if any: ErrLost if the lock was lost before fn returned, or what Unlock says. It is
// Lock's if the lock was not had; fn was not called then. If fn panics the lock is given back and the panic goes on. fn may give the
// lock up itself, by Unlock, Leave or Detach.
func (l *Locker) Do(ctx context.Context, key string, fn func(ctx context.Context, lock *Lock) error) (err error) {
	if fn == nil {
		return invalid("function is nil")
	}
	lock, err := l.Lock(ctx, key)
	if err != nil {
		return err
	}
	inner, cancel := lock.Context(ctx)
	renew, stop := context.WithCancel(inner)
	var renewing sync.WaitGroup
	renewing.Go(func() { _ = lock.KeepAlive(renew) }) // what it came to, Unlock says too
	defer func() {
		stop()
		renewing.Wait() // joined before the release: nothing renews what is being given back
		end := lock.Unlock(ctx)
		cancel()
		if end != nil && !errors.Is(end, ErrUnlocked) { // that is fn's own doing, or Close's
			err = errors.Join(err, end)
		}
	}()
	return fn(inner, lock)
}
