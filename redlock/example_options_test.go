package redlock_test

import (
	"crypto/tls"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/redlock"
)

// A setting of the whole Locker. It cannot be passed to a single call.
func ExampleOption() {
	opts := []redlock.Option{
		redlock.WithNodeTimeout(50 * time.Millisecond),
		redlock.WithDrift(0.16), // both sides may be slewed by a time server
	}
	locker, err := redlock.Open(urls, opts...)
	fmt.Println(locker, err)
	// Output: redlock.Locker{nodes: 3, prefix: ""} <nil>
}

// A setting of a lock is a default in New and Open, and can be given to one call.
func ExampleLockOption() {
	brief := []redlock.LockOption{redlock.WithTTL(2 * time.Second), redlock.WithMaxAttempts(1)}
	locker, err := redlock.Open(urls, brief[0], brief[1])
	if err != nil {
		log.Fatal(err)
	}
	if _, err := locker.Lock(ctx, "k", redlock.WithTTL(time.Minute)); err != nil {
		log.Print(err)
	}
}

// The relation that failed is named.
func ExampleWithTTL() {
	_, err := redlock.Open(urls, redlock.WithTTL(100*time.Millisecond))
	fmt.Println(err)
	// Output: redlock: invalid argument: node timeout 200ms does not fit into ttl 100ms less drift 3ms
}

func ExampleWithNodeTimeout() {
	// Nodes at the other end of a continent: a round trip must fit into it, and it into the TTL.
	locker, err := redlock.Open(urls, redlock.WithNodeTimeout(time.Second), redlock.WithTTL(30*time.Second))
	fmt.Println(locker, err)
	// Output: redlock.Locker{nodes: 3, prefix: ""} <nil>
}

func ExampleWithBackoff() {
	_, err := redlock.Open(urls, redlock.WithBackoff(100*time.Millisecond, 20*time.Millisecond))
	fmt.Println(err)
	// Output: redlock: invalid argument: backoff maximum 20ms is below its minimum 100ms
}

func ExampleWithMaxAttempts() {
	lock, err := locker.Lock(ctx, "k", redlock.WithMaxAttempts(3)) // give up after the third, even if ctx still lives
	fmt.Println(lock, err)
}

func ExampleWithDrift() {
	_, err := redlock.Open(urls, redlock.WithDrift(-0.1))
	fmt.Println(err)
	// Output: redlock: invalid argument: drift -0.1 is not from 0 to below 1
}

// Services that share masters keep out of one another's way.
func ExampleWithPrefix() {
	locker, err := redlock.Open(urls, redlock.WithPrefix("billing:"))
	fmt.Println(locker, err)
	// Output: redlock.Locker{nodes: 3, prefix: "billing:"} <nil>
}

// Clients that reach the masters under different addresses wait for one another all the same if they call them alike.
func ExampleWithNodeNames() {
	locker, err := redlock.Open(urls, redlock.WithNodeNames("lock-a", "lock-b", "lock-c"))
	fmt.Println(locker, err)
	// Output: redlock.Locker{nodes: 3, prefix: ""} <nil>
}

// A test moves the time itself.
func ExampleWithClock() {
	hands := clock.NewManual(time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC))
	locker, err := redlock.Open(urls, redlock.WithClock(hands))
	if err != nil {
		log.Fatal(err)
	}
	hands.Advance(time.Hour)
	fmt.Println(locker)
	// Output: redlock.Locker{nodes: 3, prefix: ""}
}

// What a URL cannot say, such as a certificate, goes into the clients' own options.
func ExampleWithClientOptions() {
	locker, err := redlock.Open([]string{"rediss://10.0.0.1", "rediss://10.0.0.2", "rediss://10.0.0.3"},
		redlock.WithClientOptions(func(o *redis.Options) {
			o.TLSConfig.MinVersion = tls.VersionTLS13
		}))
	fmt.Println(locker, err)
	// Output: redlock.Locker{nodes: 3, prefix: ""} <nil>
}
