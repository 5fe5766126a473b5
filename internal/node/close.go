package node

import (
	"context"
	"time"
)

// Shut takes no more attempts.
func (g *Group) Shut() {
	for _, n := range g.lanes {
		n.close()
	}
}

// Linger waits, after Close, until what was queued by then was sent and answered, for no longer than limit.
func (g *Group) Linger(limit time.Duration) {
	over := make(chan struct{})
	stop := g.clock.AfterFunc(limit, func() { close(over) })
	defer stop()
	for _, n := range g.lanes {
		select {
		case <-n.atRest():
		case <-over:
			return
		}
	}
}

// Close takes no more attempts, waits until every debt is paid and every lane is at rest, for no longer than until ctx ends
// or one TTL has passed, and stops. What is still owed then is forgotten. Releases are sent after Close too, once each. It
// returns nil, or why it did not wait longer.
func (g *Group) Close(ctx context.Context) error {
	g.Shut()
	err := g.awaitRest(ctx)
	now := g.clock.Now()
	for _, n := range g.lanes {
		n.bury(now)
	}
	return err
}

// awaitRest waits until one look finds every lane at rest, or what is owed has been waited for long enough.
func (g *Group) awaitRest(ctx context.Context) error {
	start, limit := g.clock.Now(), time.Duration(0)
	for {
		n, needs := g.busy()
		if n == nil {
			return nil
		}
		limit = max(limit, needs) // what was there counts: a lane may be busy for a moment longer than it owes anything
		left := limit - (g.clock.Now() - start)
		if left <= 0 {
			return g.unheard()
		}
		enough := make(chan struct{})
		stop := g.clock.AfterFunc(left, func() { close(enough) })
		select {
		case <-n.atRest():
		case <-enough:
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		}
		stop()
	}
}

// unheard is ErrClosed if a node has not answered what it owes us. One that did, a moment after Close began, has its last
// repeat a moment after the TTL: nothing that was sent before can be alive then, so nothing is left to wait for.
func (g *Group) unheard() error {
	for _, l := range g.lanes {
		l.mu.Lock()
		silent := l.running && !l.pinging || l.queue.len > 0 || l.debts.unheard()
		l.mu.Unlock()
		if silent {
			return ErrClosed
		}
	}
	return nil
}

// busy is a lane that is not at rest, or nil, and how long Close may wait: one TTL of what is there, or may get there, and
// for the shortest TTLs as long as a SET and the release behind it may take.
func (g *Group) busy() (n *lane, limit time.Duration) {
	limit = 2 * g.timeout
	for _, l := range g.lanes {
		l.mu.Lock()
		if !l.resting() {
			n = l
		}
		limit = max(limit, l.flight, l.queue.longest(), l.debts.longest())
		l.mu.Unlock()
	}
	return n, limit
}

// close takes no more SETs.
func (n *lane) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
}

// resting tells that nothing is queued, under way or owed. A PING under way is nobody's. The mutex is held.
func (n *lane) resting() bool {
	return (!n.running || n.pinging) && n.queue.len == 0 && n.debts.len == 0
}

// atRest returns a channel that is closed once the lane is at rest.
func (n *lane) atRest() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.idle == nil {
		n.idle = make(chan struct{})
	}
	idle := n.idle
	n.settleIdle()
	return idle
}

// settleIdle tells who waits for rest. The mutex is held.
func (n *lane) settleIdle() {
	if n.idle != nil && n.resting() {
		close(n.idle)
		n.idle = nil
	}
}

// bury forgets what is owed. What is still queued is sent, and a goroutine still under way ends when its round trip does.
func (n *lane) bury(now time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget()
	if n.alarm != nil {
		n.alarm.stop()
		n.alarm = nil
	}
	if !n.running {
		n.rest(now)
	}
}

// forget ends all debts and lets no new one be made. The mutex is held.
func (n *lane) forget() {
	n.dead = true
	n.debts.clear()
}
