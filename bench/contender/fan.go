package contender

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/redis/go-redis/v9"
)

type fan struct{ clients []*redis.Client }

// Fan is the least that a lock on a majority can cost on this machine: the SET of
// Raw to all nodes at once, each from a goroutine of its own, and no more than the
// waiting for the majority's yes. It is no lock: it knows no validity, and its
// release waits for the stragglers first.
func Fan(addrs []string) Contender {
	f := &fan{}
	for _, addr := range addrs {
		f.clients = append(f.clients, redis.NewClient(&redis.Options{Addr: addr}))
	}
	return f
}

func (f *fan) Name() string { return FanName }

func (f *fan) Acquire(ctx context.Context, key string) (Held, error) {
	h := &fanHeld{fan: f, key: key, token: rand.Text(), open: len(f.clients), votes: make(chan bool, len(f.clients))}
	for _, c := range f.clients {
		go func() {
			granted, err := c.SetNX(ctx, h.key, h.token, ttl).Result()
			h.votes <- granted && err == nil
		}()
	}
	for yes := 0; yes <= len(f.clients)/2; {
		if h.open == 0 {
			_ = h.Unlock(context.WithoutCancel(ctx)) // a node that the holder's SET had not reached may carry ours
			return nil, errRefused
		}
		if <-h.votes {
			yes++
		}
		h.open--
	}
	return h, nil
}

func (f *fan) Close() error { return closeAll(f.clients) }

type fanHeld struct {
	fan        *fan
	key, token string
	open       int // nodes that have not voted
	votes      chan bool
}

func (h *fanHeld) Unlock(ctx context.Context) error {
	for ; h.open > 0; h.open-- {
		<-h.votes
	}
	// A majority, as of Acquire: a straggler may have found somebody else's key.
	errs := make(chan error, len(h.fan.clients))
	for _, c := range h.fan.clients {
		one := rawHeld{client: c, key: h.key, token: h.token}
		go func() { errs <- one.Unlock(ctx) }()
	}
	var failed []error
	for range h.fan.clients {
		if err := <-errs; err != nil {
			failed = append(failed, err)
		}
	}
	if len(h.fan.clients)-len(failed) > len(h.fan.clients)/2 {
		return nil
	}
	return errors.Join(failed...)
}
