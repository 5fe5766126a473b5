package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/redlock"
)

// client is somebody who wants the lock. Not for use by several goroutines.
type client struct {
	name   string
	locker *redlock.Locker
	votes  redlock.Attempt // as its last attempt knew them
}

func newClient(name string, addrs []string) (*client, error) {
	urls := make([]string, len(addrs))
	for i, a := range addrs {
		urls[i] = "redis://" + a
	}
	c := &client{name: name}
	// Hooks are called by the goroutine that called the lock: ours.
	hooks := redlock.Hooks{Attempt: func(_ context.Context, a redlock.Attempt) { c.votes = a }}
	var err error
	c.locker, err = redlock.Open(urls, redlock.WithTTL(ttl), redlock.WithNodeTimeout(nodeTimeout), redlock.WithHooks(hooks))
	return c, err
}

// try is how one call ended.
type try struct {
	who   string
	lock  *redlock.Lock
	err   error
	took  time.Duration
	votes redlock.Attempt
}

func (c *client) try(ctx context.Context, call func(context.Context, string, ...redlock.LockOption) (*redlock.Lock, error)) try {
	start := clock.System().Now()
	lock, err := call(ctx, key)
	return try{c.name, lock, err, clock.System().Now() - start, c.votes}
}

// tally says what the nodes voted. A lock that is won does not wait for the rest: their votes are open.
func tally(a redlock.Attempt) string {
	open := masters - a.Granted - a.Refused - a.Unknown - a.Unsent
	return fmt.Sprintf("%d granted, %d refused, %d unknown, %d unsent, %d open", a.Granted, a.Refused, a.Unknown, a.Unsent, open)
}

// failures names the nodes whose votes are missing, and why.
func failures(err error) []string {
	var all []string
	if q, ok := errors.AsType[*redlock.QuorumError](err); ok {
		for _, n := range q.Errs {
			all = append(all, n.Error())
		}
	}
	return all
}

// unlock repeats what can be repeated: until a client asks again for a master that was dead, its release has no quorum.
func unlock(ctx context.Context, lock *redlock.Lock, patience time.Duration) (tries int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for tries = 1; ; tries++ {
		err = lock.Unlock(ctx)
		if err == nil || !errors.Is(err, redlock.ErrNoQuorum) || ctx.Err() != nil {
			return tries, err
		}
		pause(ctx, 100*time.Millisecond)
	}
}
