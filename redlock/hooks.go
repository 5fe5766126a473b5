package redlock

import (
	"context"
	"time"
)

// Hooks are functions that are told what happens; a nil one is skipped. They are called by the goroutine whose call it is,
// with its context, and several at once where several goroutines call. A hook that panics is ignored, and a slow one delays
// its own caller and nobody else.
type Hooks struct {
	// Attempt is told of every attempt as it ends, so that a Lock which waits for a key or for dead nodes is seen waiting.
	Attempt func(ctx context.Context, a Attempt)
}

// Attempt is one try of [Locker.Lock] or [Locker.TryLock], as far as it was known when the call went on: votes still open
// then are in none of the counts.
type Attempt struct {
	Key     string
	Number  int           // from 1, within one call
	Elapsed time.Duration // since the attempt's first byte was about to leave
	Granted int
	Refused int
	Unknown int
	Unsent  int
	Err     error // nil: acquired
}

func (h *Hooks) attempt(ctx context.Context, a Attempt) {
	defer func() { _ = recover() }() // a hook cannot break the lock
	h.Attempt(ctx, a)
}
