package sim

import (
	"context"
	"io"
	"sync"
	"time"
)

// ear is a client's subscription to a node: it breaks when the node goes, and hears nothing while packets are dropped.
type ear struct {
	client *client
	node   *master
	link   *link // the way back is shared; its dice are not

	mu   sync.Mutex // protects what follows
	dice dice
	news chan struct{} // holds one while there is something to take
	post []message
}

type message struct {
	text string
	at   time.Duration
}

// Listen subscribes, and again after a failure, until ctx ends.
func (e *ear) Listen(ctx context.Context, channel string, up func(bool), hear func(string), failed func(error)) {
	for {
		e.receive(ctx, channel, up, hear)
		up(false)
		if ctx.Err() != nil {
			return
		}
		failed(io.EOF)
		if !e.pass(ctx, 50*time.Millisecond+e.draw(time.Millisecond)) {
			return
		}
	}
}

// receive is one subscription, until it fails or ctx ends.
func (e *ear) receive(ctx context.Context, channel string, up func(bool), hear func(string)) {
	w := e.client.world
	if !e.pass(ctx, e.draw(time.Millisecond)) {
		return
	}
	if !e.pass(ctx, e.node.wakes(w.now())-w.now()) {
		return
	}
	if _, down := e.node.down.at(w.now()); down {
		return
	}
	e.mu.Lock()
	e.news, e.post = make(chan struct{}, 1), nil
	news := e.news
	e.mu.Unlock()
	w.mu.Lock()
	unsubscribe := e.node.store.Subscribe(channel, e.take)
	w.mu.Unlock()
	defer unsubscribe()
	broken := make(chan struct{})
	if crash, crashes := e.node.down.begin(w.now(), never); crashes {
		defer time.AfterFunc(crash.from-w.now(), func() { close(broken) }).Stop()
	}
	if !e.pass(ctx, e.draw(time.Millisecond)) {
		return
	}
	up(true)
	for {
		select {
		case <-news:
		case <-broken:
			return
		case <-ctx.Done():
			return
		}
		for _, m := range e.taken() {
			if !e.pass(ctx, m.at-w.now()) {
				return
			}
			hear(m.text)
		}
	}
}

// take keeps a message that was published now, for later. It is called while a script runs.
func (e *ear) take(text string) {
	now := e.client.world.now()
	if _, cut := e.link.back.at(now); cut {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.client.awake(now+e.dice.between(50*time.Microsecond, 2*time.Millisecond), &e.dice)
	e.post = append(e.post, message{text, at})
	select {
	case e.news <- struct{}{}:
	default:
	}
}

func (e *ear) taken() []message {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.post
	e.post = nil
	return all
}

func (e *ear) draw(most time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dice.between(50*time.Microsecond, most)
}

// pass passes time, and tells whether ctx still lives.
func (e *ear) pass(ctx context.Context, length time.Duration) bool {
	if length <= 0 {
		return ctx.Err() == nil
	}
	over := time.NewTimer(length)
	defer over.Stop()
	select {
	case <-over.C:
		return true
	case <-ctx.Done():
		return false
	}
}
