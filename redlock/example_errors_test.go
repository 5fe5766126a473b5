package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/redlock"
)

// Every failure can be told from every other.
func Example_errors() {
	_, err := locker.Lock(ctx, "account:7", redlock.WithMaxAttempts(3))
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		log.Print("the caller's own context ended") // only ever that one: a node's timeout does not match
	case errors.Is(err, redlock.ErrTaken):
		log.Print("somebody else has it")
	case errors.Is(err, redlock.ErrNoQuorum):
		log.Print("too few nodes answered")
	case errors.Is(err, redlock.ErrTooSlow):
		log.Print("a majority granted it, too late")
	case errors.Is(err, redlock.ErrClosed):
		log.Print("the Locker is closed")
	case errors.Is(err, redlock.ErrInvalid):
		log.Print("nothing was sent, the call is wrong")
	}
	if errors.Is(err, redlock.ErrNotAcquired) {
		log.Print("of each that asked, or would have: ", err)
	}
}

// downed is a network on which nothing answers.
func downed(o *redis.Options) {
	o.Dialer = func(_ context.Context, network, _ string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
}

// The details name each node that failed, and why.
func ExampleQuorumError() {
	locker, err := redlock.Open([]string{"redis://10.0.0.1"}, redlock.WithClientOptions(downed))
	if err != nil {
		log.Fatal(err)
	}
	_, err = locker.TryLock(ctx, "account:7")
	if e, ok := errors.AsType[*redlock.QuorumError](err); ok {
		fmt.Printf("%s of %q: %d of %d granted, %d needed\n", e.Op, e.Key, e.Granted, e.Nodes, e.Quorum)
		fmt.Printf("refused %d, unknown %d, unsent %d\n", e.Refused, e.Unknown, e.Unsent)
		for _, node := range e.Errs {
			fmt.Println(node.Index, node.Name, errors.Is(node, syscall.ECONNREFUSED))
		}
	}
	// Output:
	// trylock of "account:7": 0 of 1 granted, 1 needed
	// refused 0, unknown 0, unsent 1
	// 0 10.0.0.1:6379 true
}

// The cause of the first node that failed can be had in one step, in its own type.
func ExampleNodeError() {
	locker, err := redlock.Open([]string{"redis://10.0.0.1"}, redlock.WithClientOptions(downed))
	if err != nil {
		log.Fatal(err)
	}
	_, err = locker.TryLock(ctx, "account:7")
	if node, ok := errors.AsType[*redlock.NodeError](err); ok {
		fmt.Println(node.Name)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		fmt.Println(op)
	}
	// Output:
	// 10.0.0.1:6379
	// dial tcp: connection refused
}

// A Lock that waits for dead nodes is seen waiting.
func ExampleWithHooks() {
	hooks := redlock.Hooks{
		Attempt: func(_ context.Context, a redlock.Attempt) {
			fmt.Printf("attempt %d for %q: %d unsent, no quorum: %t\n", a.Number, a.Key, a.Unsent, errors.Is(a.Err, redlock.ErrNoQuorum))
		},
	}
	locker, err := redlock.Open([]string{"redis://10.0.0.1"}, redlock.WithHooks(hooks), redlock.WithClientOptions(downed))
	if err != nil {
		log.Fatal(err)
	}
	_, err = locker.Lock(ctx, "account:7", redlock.WithMaxAttempts(2), redlock.WithBackoff(time.Millisecond, 2*time.Millisecond))
	fmt.Println(errors.Is(err, redlock.ErrNotAcquired))
	// Output:
	// attempt 1 for "account:7": 1 unsent, no quorum: true
	// attempt 2 for "account:7": 1 unsent, no quorum: true
	// true
}
