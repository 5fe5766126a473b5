package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// view is what one master says of the key when it is asked behind the lock's back.
type view struct {
	up     bool
	mark   string // tells tokens apart without showing one; "" where the key is absent
	remain time.Duration
}

// look asks every master once.
func look(ctx context.Context, addrs []string) []view {
	views := make([]view, len(addrs))
	for i, addr := range addrs {
		views[i] = lookAt(ctx, addr)
	}
	return views
}

func lookAt(ctx context.Context, addr string) view {
	// A client of its own each time: one that met a dead master would not ask again for up to a second.
	c := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, PoolSize: 1, ContextTimeoutEnabled: true,
		DialTimeout: nodeTimeout, ReadTimeout: nodeTimeout,
	})
	defer func() { _ = c.Close() }()
	var token *redis.StringCmd
	var remain *redis.DurationCmd
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		token, remain = p.Get(ctx, key), p.PTTL(ctx, key)
		return nil
	})
	switch {
	case errors.Is(err, redis.Nil):
		return view{up: true}
	case err != nil:
		return view{}
	}
	return view{true, mark(token.Val()), remain.Val()}
}

// mark is a short digest of a token: 16 bits of it give nothing away.
func mark(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:2])
}

// carrying counts the masters that carry the key.
func carrying(views []view) int {
	n := 0
	for _, v := range views {
		if v.mark != "" {
			n++
		}
	}
	return n
}

// settle looks until n masters carry the key, or the patience is over, and returns what it saw last: a lock is had, and
// given back, before the slowest master has answered.
func settle(ctx context.Context, addrs []string, n int, patience time.Duration) []view {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		views := look(ctx, addrs)
		if carrying(views) == n || waiting.Err() != nil {
			return views
		}
		pause(waiting, 5*time.Millisecond)
	}
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
