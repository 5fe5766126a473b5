package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Listener receives what is published on a channel of one node.
type Listener interface {
	// Listen blocks until ctx ends. It calls up with true each time the subscription stands, with false each time it may not stand any
	// more, and hear with every message; neither must block. It goes on after whatever failure, and tells failed of it.
	Listen(ctx context.Context, channel string, up func(bool), hear func(payload string), failed func(error))
}

// NewListener returns the Listener over a client. It takes one connection of its own, not one of the pool.
func NewListener(client *redis.Client, clock Clock) Listener { return subscriber{client, clock} }

type subscriber struct {
	client *redis.Client
	clock  Clock
}

const (
	minRetry = 50 * time.Millisecond
	maxRetry = 2 * time.Second
)

// Listen subscribes, and again after a failure.
func (s subscriber) Listen(ctx context.Context, channel string, up func(bool), hear func(string), failed func(error)) {
	for pause := minRetry; ; pause = min(2*pause, maxRetry) {
		stood, err := s.receive(ctx, channel, up, hear)
		up(false)
		if ctx.Err() != nil {
			return
		}
		failed(err)
		if stood {
			pause = minRetry
		}
		over := make(chan struct{})
		stop := s.clock.AfterFunc(pause, func() { close(over) })
		select {
		case <-over:
		case <-ctx.Done():
			stop()
			return
		}
	}
}

// receive is one subscription, until it fails. It tells whether it ever stood.
func (s subscriber) receive(ctx context.Context, channel string, up func(bool), hear func(string)) (stood bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("client panicked on a message: %v", v)
		}
	}()
	sub := s.client.Subscribe(ctx, channel)
	defer func() { _ = sub.Close() }() // the connection goes with it
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer stop()
	for {
		msg, err := sub.Receive(ctx)
		if err != nil {
			return stood, err
		}
		switch m := msg.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				stood = true
				up(true)
			}
		case *redis.Message:
			hear(m.Payload)
		case *redis.Pong:
		default:
			return stood, errors.New("message of an unexpected shape")
		}
	}
}
