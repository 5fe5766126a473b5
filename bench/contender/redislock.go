package contender

import (
	"context"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// redislockPause is between two attempts, as in redislock's README.
const redislockPause = 100 * time.Millisecond

type single struct {
	client *redis.Client
	locker *redislock.Client
}

// Redislock is bsm/redislock on the one node at addr, which is all that it locks on,
// with go-redis on its default options. It waits as its examples do: it asks again
// every 100 ms, until the context ends.
func Redislock(addr string) Contender {
	client := redis.NewClient(&redis.Options{Addr: addr})
	return single{client, redislock.New(client)}
}

func (s single) Name() string { return RedislockName }

func (s single) Acquire(ctx context.Context, key string) (Held, error) {
	opts := &redislock.Options{RetryStrategy: redislock.LinearBackoff(redislockPause)}
	lock, err := s.locker.Obtain(ctx, key, ttl, opts)
	if err != nil {
		return nil, fmt.Errorf("contender: redislock: %w", err)
	}
	return singleHeld{lock}, nil
}

func (s single) Close() error { return s.client.Close() }

// singleHeld is one pointer wide, so that it becomes a Held without an allocation.
type singleHeld struct{ lock *redislock.Lock }

func (h singleHeld) Unlock(ctx context.Context) error { return h.lock.Release(ctx) }
