package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/redlock"
)

func step(context.Context) error                            { return nil }
func write(ctx context.Context, fence int64) error          { return ctx.Err() }
func hand(ctx context.Context, key, token string) error     { return ctx.Err() }
func received(context.Context) (key, token string, _ error) { return "job:7", "", nil }

// Do is the way to hold a lock for as long as a job takes. The context ends when the lock is lost: stop then.
func ExampleLocker_Do() {
	err := locker.Do(ctx, "nightly-report", func(ctx context.Context, lock *redlock.Lock) error {
		for range 1000 {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, redlock.ErrLost):
		log.Print("somebody else may have been at work: ", err)
	case err != nil:
		log.Print(err) // the job's own error comes first
	}
}

// KeepAlive beside the work, for who wants the goroutines to be the application's own.
func ExampleLock_KeepAlive() {
	lock, err := locker.Lock(ctx, "import", redlock.WithMaxHold(time.Hour)) // a job that hangs does not keep it for ever
	if err != nil {
		log.Fatal(err)
	}
	work, cancel := lock.Context(ctx)
	defer cancel()
	g, work := errgroup.WithContext(work)
	g.Go(func() error { return lock.KeepAlive(work) }) // ends with nil when the lock is given up
	g.Go(func() error {
		if err := step(work); err != nil {
			return err
		}
		return lock.Unlock(ctx)
	})
	if err := g.Wait(); err != nil {
		log.Print(err)
	}
}

// One Extend after each step of known length does without any goroutine.
func ExampleLock_Extend() {
	lock, err := locker.Lock(ctx, "import", redlock.WithTTL(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	for range 10 {
		if err := step(ctx); err != nil {
			break
		}
		switch err := lock.Extend(ctx); {
		case errors.Is(err, redlock.ErrLost):
			log.Fatal("stop: somebody else may have it: ", err)
		case err != nil:
			log.Printf("it is still held, for %v: %v", lock.Remaining(), err)
		}
	}
}

// The context of a lock stops what runs under it; its cause says why.
func ExampleLock_Context() {
	lock, err := locker.Lock(ctx, "account:7")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := lock.Context(ctx)
	defer cancel() // which does not unlock
	if err := charge(ctx); err != nil && errors.Is(context.Cause(ctx), redlock.ErrLost) {
		log.Print("the payment was stopped because the lock was lost")
	}
}

func ExampleLock_Done() {
	lock, err := locker.Lock(ctx, "leader")
	if err != nil {
		log.Fatal(err)
	}
	select {
	case <-lock.Done():
		log.Print("no longer the leader: ", lock.Err())
	case <-time.After(5 * time.Second):
	}
}

// A job that must not run twice within an hour, on whatever machine: the key is left behind.
func ExampleLock_Leave() {
	lock, err := locker.TryLock(ctx, "hourly-mail", redlock.WithTTL(time.Minute))
	if err != nil {
		return
	}
	defer func() { _ = lock.Unlock(ctx) }() // does nothing once it was left
	if err := step(ctx); err == nil {
		if err := lock.Leave(ctx, time.Hour); err != nil {
			log.Print("it may run again sooner: ", err)
		}
	}
}

// A lock that goes from one process to another is free at no time between.
func ExampleLock_Detach() {
	lock, err := locker.Lock(ctx, "job:7", redlock.WithTTL(30*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	if token := lock.Detach(); token != "" { // keep it secret: who has it can take the lock over
		if err := hand(ctx, "job:7", token); err != nil {
			log.Print("the lock ends with its TTL: ", err)
		}
	}
}

func ExampleLocker_Resume() {
	key, token, err := received(ctx)
	if err != nil {
		log.Fatal(err)
	}
	lock, err := locker.Resume(ctx, key, token, redlock.WithTTL(30*time.Second))
	switch {
	case errors.Is(err, redlock.ErrLost):
		log.Print("it ran out, or somebody else resumed it")
	case err != nil:
		log.Print("try again: ", err)
	default:
		defer func() { _ = lock.Unlock(ctx) }()
	}
}

// The resource refuses a number below the largest it has seen; package fence has the other side.
func ExampleLock_Fence() {
	lock, err := locker.Lock(ctx, "account:7", redlock.WithFencing(), redlock.WithFenceRetention(30*24*time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = lock.Unlock(ctx) }()
	if err := write(ctx, lock.Fence()); err != nil {
		log.Print(err)
	}
}

// Who has it, and for how long. Nothing is changed.
func ExampleLocker_Inspect() {
	seen, err := locker.Inspect(ctx, "nightly-report")
	if err != nil {
		log.Fatal(err)
	}
	if digest, label := seen.Holder(); digest != "" {
		fmt.Printf("%s is held by %s (%s)\n", seen.Key, label, digest)
	}
	for _, node := range seen.Nodes {
		fmt.Println(node.Name, node.Holder, node.Label, node.TTL, node.Fence, node.Waits, node.Owed, node.Err)
	}
}

func ExampleInspection() {
	free := redlock.Inspection{Key: "k", Quorum: 2, Nodes: []redlock.NodeState{{Index: 0}, {Index: 1}, {Index: 2}}}
	digest, _ := free.Holder()
	fmt.Printf("%q\n", digest)
	// Output: ""
}

// All accounts, or none of them, in one round trip. The order does not matter: overlapping sets cannot deadlock.
func ExampleWithKeys() {
	lock, err := locker.Lock(ctx, "account:7", redlock.WithKeys("account:12", "account:3"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = lock.Unlock(ctx) }()
}

func ExampleWithLabel() {
	l := locker.With(redlock.WithLabel("billing on host-3")) // no secret: every client of the nodes can read it
	if _, err := l.Lock(ctx, "account:7"); err != nil {
		log.Print(err)
	}
}

func ExampleWithMaxHold() {
	_, err := redlock.Open(urls, redlock.WithTTL(time.Minute), redlock.WithMaxHold(time.Second))
	fmt.Println(err)
	// Output: redlock: invalid argument: max hold 1s is below the ttl 1m0s
}

func ExampleWithFenceRetention() {
	_, err := redlock.Open(urls, redlock.WithFencing(), redlock.WithFenceRetention(time.Second))
	fmt.Println(err)
	// Output: redlock: invalid argument: fence retention 1s is below the ttl 10s
}

// A tool that takes a lock for an operator and exits leaves it to its TTL.
func ExampleWithoutReleaseOnClose() {
	locker, err := redlock.Open(urls, redlock.WithTTL(10*time.Minute), redlock.WithoutReleaseOnClose())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(locker.Close(ctx))
	// Output: <nil>
}

// Hooks tell a metrics library what happens, each in the words of its own.
func ExampleHooks() {
	hooks := redlock.Hooks{
		Attempt:  func(_ context.Context, a redlock.Attempt) { log.Print(a.Key, a.Number, a.Elapsed, a.Err) },
		Vote:     func(_ context.Context, v redlock.Vote) { log.Print(v.Name, v.Vote, v.Err) },
		Acquired: func(_ context.Context, a redlock.Acquisition) { log.Print(a.Key, a.Fence, a.Attempts, a.Remaining) },
		Extended: func(_ context.Context, e redlock.Extension) { log.Print(e.Key, e.Elapsed, e.Remaining) },
		Jeopardy: func(_ context.Context, j redlock.Jeopardy) { log.Print("alert: ", j.Key, j.Remaining, j.Err) },
		Lost:     func(_ context.Context, l redlock.Loss) { log.Print("alert: ", l.Key, l.Err) },
		Released: func(_ context.Context, r redlock.Release) { log.Print(r.Key, r.Err) },
		Debts:    func(_ context.Context, d redlock.Debts) { log.Print(d.Name, d.Owed) },
		Trouble:  func(_ context.Context, t redlock.Trouble) { log.Print(t.Name, t.Err) },
	}
	locker, err := redlock.Open(urls, redlock.WithHooks(hooks))
	fmt.Println(locker, err)
	// Output: redlock.Locker{nodes: 3, prefix: ""} <nil>
}
