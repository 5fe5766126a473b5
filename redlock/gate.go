package redlock

import "sync"

// gate lets attempts in until it is shut, and knows when the last of them is over: between a verdict and its undo nothing of
// an attempt may be under way or owed on any lane, and yet keys of it are there.
type gate struct {
	shut chan struct{} // closed by close, before anything else

	mu     sync.Mutex    // protects what follows
	inside int           // attempts
	closed bool          // no attempt is let in any more
	empty  chan struct{} // closed once closed is true and inside is 0
}

func newGate() *gate { return &gate{shut: make(chan struct{}), empty: make(chan struct{})} }

// isShut tells whether the gate is shut.
func (g *gate) isShut() bool {
	select {
	case <-g.shut:
		return true
	default:
		return false
	}
}

// enter lets an attempt in, which must leave; or it returns ErrClosed.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	g.inside++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.settle()
}

// settle tells who waits in close. The mutex is held.
func (g *gate) settle() {
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// close shuts the gate and waits until the attempts inside are over. That cannot take long: once it is shut they wait for
// nothing.
func (g *gate) close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.shut)
		g.settle()
	}
	g.mu.Unlock()
	<-g.empty
}
