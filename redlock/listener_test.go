package redlock

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
)

var _ node.Listener = listener{}

// listener is a node.Listener over a master: a subscription is a connection that lives and dies by what befalls the master, and its
// network. It goes on after a failure as the one over a client does.
type listener struct{ master *master }

func (l listener) Listen(ctx context.Context, channel string, up func(bool), hear func(string), failed func(error)) {
	l.master.ears.Add(1)
	defer l.master.ears.Add(-1)
	for {
		err := l.receive(ctx, channel, up, hear)
		up(false)
		if ctx.Err() != nil {
			return
		}
		failed(err)
		if !pauseFor(ctx, 50*time.Millisecond) {
			return
		}
	}
}

func (l listener) receive(ctx context.Context, channel string, up func(bool), hear func(string)) error {
	m := l.master
	back, err := m.reach(ctx)
	if err != nil {
		return err
	}
	s := &stream{master: m, news: make(chan struct{}, 1), broken: make(chan struct{})}
	m.mu.Lock()
	m.streams[s] = struct{}{}
	m.subscribed++
	m.mu.Unlock()
	defer m.drop(s)
	unsubscribe := m.store.Subscribe(channel, s.take)
	defer unsubscribe()
	if !pauseFor(ctx, back) {
		return ctx.Err()
	}
	up(true)
	for {
		select {
		case <-s.news:
		case <-s.broken:
			return io.EOF
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, p := range s.taken() {
			if !pauseFor(ctx, time.Until(p.at)) {
				return ctx.Err()
			}
			hear(p.payload)
		}
	}
}

// reach waits until a request gets to the master, or its connection is refused; back is how long the reply takes.
func (m *master) reach(ctx context.Context) (back time.Duration, err error) {
	for {
		m.mu.Lock()
		w, stopped, changed := m.way, m.stopped, m.changed
		m.mu.Unlock()
		switch {
		case w.down != nil || w.deaf != nil:
			if !pauseFor(ctx, w.out) {
				return 0, ctx.Err()
			}
			if w.down != nil {
				return 0, w.down
			}
			return 0, w.deaf
		case !stopped && !w.lose && !w.drop:
			if !pauseFor(ctx, w.out) {
				return 0, ctx.Err()
			}
			return w.back, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// stream is what the master sends to one subscription.
type stream struct {
	master *master
	broken chan struct{} // closed where its connection is; the master's mutex guards that
	news   chan struct{}

	mu   sync.Mutex // protects what follows
	some []push
}

type push struct {
	payload string
	at      time.Time // when it arrives
}

// take takes what is published; the store calls it.
func (s *stream) take(payload string) {
	w := s.master.downstream.Load()
	if w.mute || w.drop {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.some = append(s.some, push{payload, time.Now().Add(w.back)})
	notify(s.news)
}

func (s *stream) taken() []push {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.some
	s.some = nil
	return all
}

func (m *master) drop(s *stream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.streams, s)
}

// hangUp breaks the connections of all subscriptions. The mutex is held.
func (m *master) hangUp() {
	for s := range m.streams {
		close(s.broken)
		delete(m.streams, s)
	}
}

// tellChange wakes who waits for the master to be reached. The mutex is held.
func (m *master) tellChange() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// pauseFor tells whether the time has passed before ctx ended.
func pauseFor(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
		return true
	case <-ctx.Done():
		return false
	}
}
