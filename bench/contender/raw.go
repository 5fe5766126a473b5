package contender

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// compareAndDelete deletes KEYS[1] where it carries ARGV[1].
var compareAndDelete = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0
`)

var errRefused = errors.New("contender: the key is taken")

type raw struct{ client *redis.Client }

// Raw is the least that a lock can cost: SET NX PX with a random token on the one
// node at addr, released by a script that compares the token; go-redis on its
// default options.
func Raw(addr string) Contender {
	return &raw{client: redis.NewClient(&redis.Options{Addr: addr})}
}

func (r *raw) Name() string { return RawName }

func (r *raw) Acquire(ctx context.Context, key string) (Held, error) {
	token := rand.Text()
	granted, err := r.client.SetNX(ctx, key, token, ttl).Result()
	if err != nil {
		return nil, fmt.Errorf("contender: raw: %w", err)
	}
	if !granted {
		return nil, errRefused
	}
	return &rawHeld{client: r.client, key: key, token: token}, nil
}

func (r *raw) Close() error { return r.client.Close() }

type rawHeld struct {
	client     *redis.Client
	key, token string
}

func (h *rawHeld) Unlock(ctx context.Context) error {
	n, err := compareAndDelete.Run(ctx, h.client, []string{h.key}, h.token).Int()
	if err != nil {
		return fmt.Errorf("contender: raw: %w", err)
	}
	if n != 1 {
		return errors.New("contender: raw: the key was not ours any more")
	}
	return nil
}
