package contender

import (
	"context"
	"errors"
	"time"

	"github.com/quorumlock/go-redlock/redlock"
)

// closeGrace bounds Close: debts to a node that was stopped are paid for one TTL
// after it answers again, and no measurement waits for that.
const closeGrace = time.Second

const holdingTimeout = 5 * time.Second

type library struct {
	name   string
	locker *redlock.Locker
}

func open(name string, addrs []string, opts ...redlock.Option) (Contender, error) {
	locker, err := redlock.Open(urls(addrs), opts...)
	if err != nil {
		return nil, err
	}
	return library{name, locker}, nil
}

// Library is this library on clients that Open makes, on default options.
func Library(addrs []string) (Contender, error) { return open(LibraryName, addrs) }

// Fenced is Library with a fence for every lock.
func Fenced(addrs []string) (Contender, error) { return open(FencedName, addrs, redlock.WithFencing()) }

// LibraryForHolding is this library with locks that live for ttl, so that many can be
// held at once without renewal, and with a node timeout that a busy machine does not
// reach: what is measured with it is heap, not speed.
func LibraryForHolding(addrs []string, ttl time.Duration) (Contender, error) {
	return open(LibraryName, addrs, redlock.WithTTL(ttl), redlock.WithNodeTimeout(holdingTimeout))
}

// FencedForHolding is LibraryForHolding with a fence for every lock.
func FencedForHolding(addrs []string, ttl time.Duration) (Contender, error) {
	return open(FencedName, addrs, redlock.WithTTL(ttl), redlock.WithNodeTimeout(holdingTimeout), redlock.WithFencing())
}

// LibraryForKeeping is Library with another ttl, whose locks are [Kept].
func LibraryForKeeping(addrs []string, ttl time.Duration) (Contender, error) {
	return open(LibraryName, addrs, redlock.WithTTL(ttl))
}

// Kept is a lock that can be renewed for as long as ctx lives.
type Kept interface {
	Held
	KeepAlive(ctx context.Context) error
}

func (l library) Name() string { return l.name }

func (l library) Acquire(ctx context.Context, key string) (Held, error) {
	lock, err := l.locker.Lock(ctx, key)
	if err != nil {
		return nil, err // a nil *Lock must not become a Held that is not nil
	}
	return lock, nil
}

func (l library) Try(ctx context.Context, key string) (Held, error) {
	lock, err := l.locker.TryLock(ctx, key)
	if err != nil {
		return nil, err
	}
	return lock, nil
}

func (l library) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if err := l.locker.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func urls(addrs []string) []string {
	out := make([]string, len(addrs))
	for i, addr := range addrs {
		out[i] = "redis://" + addr
	}
	return out
}
