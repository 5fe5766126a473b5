package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/redlock"
)

var (
	ctx    = context.Background()
	locker *redlock.Locker
	urls   = []string{"redis://10.0.0.1:6379", "redis://10.0.0.2:6379", "redis://10.0.0.3:6379"}
)

func Example() {
	locker, err := redlock.Open([]string{"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"})
	if err != nil {
		log.Fatal(err)
	}
	lock, err := locker.Lock(ctx, "invoice:42") // waits for its turn until ctx ends
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := lock.Unlock(ctx); err != nil { // works after ctx has ended, too
			log.Print(err)
		}
	}()
}

// Clients that the application has anyway serve as nodes. They stay its own to close, after the Locker.
func ExampleNew() {
	nodes := []*redis.Client{
		redis.NewClient(&redis.Options{Addr: "10.0.0.1:6379"}),
		redis.NewClient(&redis.Options{Addr: "10.0.0.2:6379"}),
		redis.NewClient(&redis.Options{Addr: "10.0.0.3:6379"}),
	}
	locker, err := redlock.New(nodes, redlock.WithTTL(30*time.Second), redlock.WithPrefix("billing:"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(locker)
	// Output: redlock.Locker{nodes: 3, prefix: "billing:"}
}

// Open makes its own clients. What is wrong with a URL is told, and the password in it is not.
func ExampleOpen() {
	_, err := redlock.Open([]string{"rediss://app:se/cret@10.0.0.1:6380"})
	fmt.Println(errors.Is(err, redlock.ErrInvalid))
	fmt.Println(err)
	// Output:
	// true
	// redlock: invalid argument: url 0: cannot be parsed; its user, password or host may hold a character that must be percent-encoded
}

// TryLock does not wait: here whoever comes second leaves the job to whoever came first.
func ExampleLocker_TryLock() {
	lock, err := locker.TryLock(ctx, "nightly-report", redlock.WithTTL(time.Minute))
	switch {
	case errors.Is(err, redlock.ErrTaken):
		return
	case err != nil:
		log.Fatal(err)
	}
	defer func() {
		if err := lock.Unlock(ctx); err != nil {
			log.Print(err)
		}
	}()
}

// Lock waits. Its context says for how long.
func ExampleLocker_Lock() {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	lock, err := locker.Lock(ctx, "account:7")
	if errors.Is(err, context.DeadlineExceeded) {
		log.Print("busy, try again later: ", err)
		return
	}
	if err != nil {
		log.Print(err)
		return
	}
	defer func() {
		if err := lock.Unlock(ctx); err != nil {
			log.Print(err)
		}
	}()
}

// One set of nodes serves different purposes.
func ExampleLocker_With() {
	slow := locker.With(redlock.WithTTL(5*time.Minute), redlock.WithBackoff(time.Second, 3*time.Second))
	lock, err := slow.Lock(ctx, "export")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lock.Remaining())
}

// When the process ends: give back what is held, then let Close pay what is owed to nodes that did not answer.
func ExampleLocker_Close() {
	locker, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	fmt.Println(locker.Close(ctx))
	_, err = locker.TryLock(ctx, "k")
	fmt.Println(errors.Is(err, redlock.ErrClosed))
	// Output:
	// <nil>
	// true
}

// The answer of Unlock says whether the work was protected to its end.
func ExampleLock_Unlock() {
	lock, err := locker.Lock(ctx, "account:7")
	if err != nil {
		log.Fatal(err)
	}
	// ... the work ...
	switch err := lock.Unlock(ctx); {
	case err == nil:
	case errors.Is(err, redlock.ErrLost):
		log.Print("somebody else may have worked at the same time: ", err)
	case errors.Is(err, redlock.ErrNoQuorum):
		log.Print("the key may stay until its TTL: ", err)
	case errors.Is(err, redlock.ErrUnlocked):
		log.Print("it was given back before")
	}
}

// A nil handle is none that is held, so a deferred Unlock does no harm where Lock failed.
func ExampleLock_Unlock_nil() {
	var lock *redlock.Lock
	fmt.Println(lock.Unlock(ctx))
	// Output: redlock: unlocked
}

// Ask right before what must not happen twice.
func ExampleLock_Remaining() {
	lock, err := locker.Lock(ctx, "account:7")
	if err != nil {
		log.Fatal(err)
	}
	if lock.Remaining() < 2*time.Second {
		log.Fatal("too little time is left to pay")
	}
	fmt.Printf("paying under %s until about %s\n", lock.Key(), lock.Until().Format(time.TimeOnly))
}
