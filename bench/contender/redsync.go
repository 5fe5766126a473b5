package contender

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncTimeout is what redsync allows one round on its defaults: 8 s × 0.05.
const redsyncTimeout = 400 * time.Millisecond

type peer struct {
	name    string
	clients []*redis.Client
	rs      *redsync.Redsync
}

// Redsync is redsync as its README sets it up: every option of it and of go-redis
// is the default one.
func Redsync(addrs []string) Contender {
	return newPeer(RedsyncName, addrs, redis.Options{})
}

// RedsyncTimeouts is redsync on clients that let its time limits work: go-redis
// reads past a context's deadline unless it is told otherwise, and redsync's
// Unlock sets no deadline at all, so the clients carry the limit themselves.
func RedsyncTimeouts(addrs []string) Contender {
	return newPeer(RedsyncTimeoutsName, addrs, redis.Options{
		ContextTimeoutEnabled: true,
		DialTimeout:           redsyncTimeout,
		ReadTimeout:           redsyncTimeout,
		WriteTimeout:          redsyncTimeout,
		PoolTimeout:           redsyncTimeout,
		DialerRetries:         1,
		MaxRetries:            -1,
	})
}

func newPeer(name string, addrs []string, opts redis.Options) Contender {
	p := &peer{name: name}
	pools := make([]redsyncredis.Pool, len(addrs))
	for i, addr := range addrs {
		o := opts
		o.Addr = addr
		client := redis.NewClient(&o)
		p.clients = append(p.clients, client)
		pools[i] = goredis.NewPool(client)
	}
	p.rs = redsync.New(pools...)
	return p
}

func (p *peer) Name() string { return p.name }

func (p *peer) Acquire(ctx context.Context, key string) (Held, error) {
	mutex := p.rs.NewMutex(key)
	if err := mutex.LockContext(ctx); err != nil {
		return nil, fmt.Errorf("contender: redsync: %w", err)
	}
	return peerHeld{mutex}, nil
}

func (p *peer) Close() error { return closeAll(p.clients) }

// peerHeld is one pointer wide, so that it becomes a Held without an allocation.
type peerHeld struct{ mutex *redsync.Mutex }

func (h peerHeld) Unlock(ctx context.Context) error {
	ok, err := h.mutex.UnlockContext(ctx)
	if ok {
		return nil
	}
	return errors.Join(errors.New("contender: redsync: not unlocked"), err)
}
