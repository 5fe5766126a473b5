package testcluster

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Proxy stands between clients and one master and makes the faults of a network. It reads the commands and replies
// that pass, so that a fault can be aimed at one reply of a pipeline.
//
// Faults on replies are armed, and then meet the next commands that the proxy reads, on whichever connection. They
// take the names of the commands they are meant for ("SET", "EVALSHA"); without a name they are meant for
// any command but those of a greeting: HELLO, AUTH, CLIENT, SELECT and PING. The command itself always reaches the
// master and is applied. A connection that subscribes or monitors is passed on from there as plain bytes, without
// faults on replies.
//
// Its methods may be called concurrently.
type Proxy struct {
	addr, target string
	links        sync.WaitGroup // connections and the listener

	mu                 sync.Mutex // protects what follows
	listener           net.Listener
	refuse             bool // asked for by Refuse
	down               bool // the master is dead
	hole               bool
	closed             bool
	toMaster, toClient time.Duration
	hurry              chan struct{} // closed when what is read until then is to arrive
	open               map[*link]struct{}
	plans              []*plan
	rewrite            func(command string, reply []byte) []byte
	sent               map[string]int
}

// newProxy listens on addr for connections to be passed on to target.
func newProxy(addr, target string) (*Proxy, error) {
	p := &Proxy{addr: addr, target: target, open: map[*link]struct{}{}, hurry: make(chan struct{}), sent: map[string]int{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p, p.listenLocked()
}

// Addr returns the address that the proxy listens on.
func (p *Proxy) Addr() string { return p.addr }

// Delay makes bytes take so long from clients to the master and back. It is a latency, not a throttle: any amount may
// be under way. Bytes that are under way keep the delay they set out with, and nothing overtakes them. Delays of less
// than a millisecond may come out as one, since timers do.
func (p *Proxy) Delay(toMaster, toClient time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toMaster, p.toClient = toMaster, toClient
}

// Hurry makes all that is under way arrive now, whatever delay it set out with.
func (p *Proxy) Hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.hurry)
	p.hurry = make(chan struct{})
}

// Reset ends all connections at once with a RST to both sides.
func (p *Proxy) Reset() { p.resetIf(func(*link) bool { return true }) }

// BlackHole makes the proxy accept and deliver nothing, either way, with all connections kept open. What is sent or
// under way meanwhile is lost. When it ends, connections that lost something are reset; the others go on.
func (p *Proxy) BlackHole(on bool) {
	p.mu.Lock()
	p.hole = on
	p.mu.Unlock()
	if !on {
		p.resetIf((*link).isDamaged)
	}
}

// Refuse closes the listener, so that new connections are refused, or opens it again on the same port. Connections
// that exist are left alone; Reset ends them. It panics when the port cannot be had back, which cannot happen while
// everybody takes ports from outside the range of this process.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
	if err := p.listenLocked(); err != nil {
		panic(err)
	}
}

// Pass ends all faults: nothing is delayed, armed, rewritten, swallowed or refused any more. Connections that lost
// something and are still open are reset.
func (p *Proxy) Pass() {
	p.mu.Lock()
	p.hole = false
	p.toMaster, p.toClient = 0, 0
	p.plans, p.rewrite = nil, nil
	p.mu.Unlock()
	p.Refuse(false)
	p.resetIf((*link).isDamaged)
}

// Conns returns how many connections of clients are open.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for l := range p.open {
		if !l.clientGone() {
			n++
		}
	}
	return n
}

// setDown closes or opens the listener with the master: the address of a dead master refuses connections.
func (p *Proxy) setDown(down bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	return p.listenLocked()
}

// close ends the listener and all connections, and returns when their goroutines have ended.
func (p *Proxy) close() error {
	p.mu.Lock()
	p.closed = true
	err := p.listenLocked()
	p.mu.Unlock()
	p.Reset()
	p.links.Wait()
	return err
}

// listenLocked brings the listener into the state that the flags ask for.
func (p *Proxy) listenLocked() error {
	want := !p.refuse && !p.down && !p.closed
	if want == (p.listener != nil) {
		return nil
	}
	if !want {
		err := p.listener.Close()
		p.listener = nil
		return err
	}
	ln, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("testcluster: proxy: %w", err)
	}
	p.listener = ln
	p.links.Go(func() { p.serve(ln) })
	return nil
}

func (p *Proxy) serve(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(10 * time.Millisecond) // out of descriptors, most likely: the client waits in the backlog
		default:
			p.admit(conn.(*net.TCPConn))
		}
	}
}

func (p *Proxy) admit(conn *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed { // close has cut what it saw, and will not look again
		_ = conn.Close()
		return
	}
	l, ctx := newLink(p, conn)
	p.open[l] = struct{}{}
	p.links.Go(func() { l.run(ctx) })
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, l)
}

// resetIf resets the connections that which says yes to.
func (p *Proxy) resetIf(which func(*link) bool) {
	p.mu.Lock()
	var chosen []*link
	for l := range p.open {
		if which(l) {
			chosen = append(chosen, l)
		}
	}
	p.mu.Unlock()
	for _, l := range chosen {
		l.cut(true)
	}
}

// swallows reports whether nothing is delivered now, and then notes that l lost something: in one step, so that the
// end of the hole sees every connection that lost something in it.
func (p *Proxy) swallows(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hole {
		l.damage()
	}
	return p.hole
}

// toMasterNow and toClientNow are of what is read now: when it arrives.
func (p *Proxy) toMasterNow(data []byte) chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	return chunk{data: data, due: time.Now().Add(p.toMaster), hurry: p.hurry}
}

func (p *Proxy) toClientNow(data []byte) chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	return chunk{data: data, due: time.Now().Add(p.toClient), hurry: p.hurry}
}

func (p *Proxy) rewriter() func(command string, reply []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rewrite
}
