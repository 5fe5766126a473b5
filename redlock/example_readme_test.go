package redlock_test

import (
	"context"
	"errors"
	"time"

	"github.com/quorumlock/go-redlock/redlock"
)

func charge(context.Context) error { return nil }

func report(context.Context) error { return nil }

func pay(context.Context, int64) error { return nil }

// The code of the README, to the letter: a test holds the two together.

func Example_readme() {
	_ = func() error {
		locker, err := redlock.Open([]string{
			"redis://10.0.0.1:6379", "redis://10.0.0.2:6379", "redis://10.0.0.3:6379",
			"redis://10.0.0.4:6379", "redis://10.0.0.5:6379",
		})
		if err != nil {
			return err
		}
		defer locker.Close(context.WithoutCancel(ctx)) // gives back what is held; give it a deadline of its own

		lock, err := locker.Lock(ctx, "invoice:42", redlock.WithTTL(30*time.Second)) // waits until ctx ends
		if err != nil {
			return err
		}
		defer lock.Unlock(ctx)           // works after ctx has ended, too
		ctx, cancel := lock.Context(ctx) // ends with the lock
		defer cancel()
		return charge(ctx)
	}
}

func Example_readmeDo() {
	_ = func() (err error) {
		err = locker.With(redlock.WithTTL(30*time.Second)).Do(ctx, "nightly-report", func(ctx context.Context, lock *redlock.Lock) error {
			return report(ctx) // stop when ctx ends: somebody else may be at work then
		})
		return err
	}
}

func Example_readmeFence() {
	_ = func() error {
		lock, err := locker.Lock(ctx, "invoice:42", redlock.WithFencing())
		if err != nil {
			return err
		}
		defer lock.Unlock(ctx)
		return pay(ctx, lock.Fence()) // UPDATE … SET fence = $1 … WHERE id = $2 AND fence <= $1
	}
}

func Example_readmeErrors() {
	lock, err := locker.TryLock(ctx, "invoice:42")
	switch {
	case errors.Is(err, redlock.ErrTaken): // somebody else has it: nothing is broken
	case errors.Is(err, redlock.ErrNoQuorum): // too few nodes answered: page somebody
	case errors.Is(err, redlock.ErrTooSlow): // a majority said yes, too late to be of use
	case errors.Is(err, context.DeadlineExceeded): // your own context, and only yours: never a node's timeout
	}
	_ = lock
}
