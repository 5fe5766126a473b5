// Package contender puts the locks that are compared behind one small interface:
// a raw SET NX PX on one node, redsync, bsm/redislock, and this library.
package contender

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Names of the contenders in keys, tables and JSON.
const (
	RawName             = "raw"
	FanName             = "raw, all nodes at once"
	RedsyncName         = "redsync"
	RedsyncTimeoutsName = "redsync, timeouts honoured"
	RedislockName       = "bsm/redislock"
	LibraryName         = "redlock"
	FencedName          = "redlock, fenced"
)

// ttl is long enough that no lock of a measurement runs out while it is held, and
// odd enough in milliseconds that go-redis says PX where it would shorten to EX.
const ttl = 9999 * time.Millisecond

// Contender is one lock under test. Acquire may be called from several goroutines.
type Contender interface {
	Name() string
	// Acquire takes key, on the path that a user of the contender would take by default.
	Acquire(ctx context.Context, key string) (Held, error)
	// Close ends the contender's connections. What is still held runs out by its TTL.
	Close() error
}

// Trier is a contender that can also ask once and not wait.
type Trier interface {
	Contender
	// Try takes key if it is free. It may be called from several goroutines.
	Try(ctx context.Context, key string) (Held, error)
}

// Open returns one of the contenders that can wait for a lock, by its name.
func Open(name string, addrs []string) (Contender, error) {
	switch name {
	case RedsyncName:
		return Redsync(addrs), nil
	case RedislockName:
		return Redislock(addrs[0]), nil
	case LibraryName:
		return Library(addrs)
	default:
		return nil, fmt.Errorf("contender: none that waits is called %q", name)
	}
}

// Held is a lock that is held. An interface and not a function: a method value
// would cost every contender an allocation that its users do not pay.
type Held interface {
	Unlock(ctx context.Context) error
}

func closeAll(clients []*redis.Client) error {
	var first error
	for _, c := range clients {
		if err := c.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
