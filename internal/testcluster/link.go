package testcluster

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
)

// link is one connection of a client and the one to the master that belongs to it. Four goroutines serve it: a reader
// and a writer in each direction, with a line between them.
type link struct {
	proxy    *Proxy
	client   *net.TCPConn
	toMaster *line
	toClient *line
	done     <-chan struct{} // closed when the link has ended
	cancel   context.CancelFunc
	gone     chan struct{} // closed when nothing more comes from the client

	// Touched by the client's reader only.
	asked      []byte // the beginning of a command
	plainAsked bool   // commands are not looked at any more

	// Touched by the master's reader only.
	answered      []byte // the beginning of a reply
	plainAnswered bool   // replies are not looked at any more

	mu          sync.Mutex // protects what follows
	master      *net.TCPConn
	slots       []slot // commands that were read and not answered yet
	damaged     bool   // something sent on this connection was lost
	masterReset bool
}

// slot is a reply that is still to come.
type slot struct {
	command string
	act     action
	plain   bool // from here on the replies do not belong to commands
}

// newLink returns a link that ends with the context it returns.
func newLink(p *Proxy, client *net.TCPConn) (*link, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	return &link{
		proxy:    p,
		client:   client,
		toMaster: newLine(),
		toClient: newLine(),
		done:     ctx.Done(),
		cancel:   cancel,
		gone:     make(chan struct{}),
	}, ctx
}

// run serves the link until both sides are done with it.
func (l *link) run(ctx context.Context) {
	defer l.cut(false)
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", l.proxy.target)
	if err != nil {
		close(l.gone)
		l.cut(true)
		return
	}
	master := conn.(*net.TCPConn)
	if !l.setMaster(master) {
		_ = master.Close()
		close(l.gone)
		return
	}
	var parts sync.WaitGroup
	parts.Go(l.readClient)
	parts.Go(func() { l.writeMaster(master) })
	parts.Go(func() { l.readMaster(master) })
	l.writeClient()
	l.cut(l.wasReset())
	parts.Wait()
}

// readClient takes what the client sends, notes its commands and puts it on the line to the master.
func (l *link) readClient() {
	defer l.toMaster.end()
	defer close(l.gone)
	buf := make([]byte, 32<<10)
	for {
		n, err := l.client.Read(buf)
		if n > 0 {
			data := bytes.Clone(buf[:n])
			l.note(data) // before it leaves: its reply must find the slot
			l.toMaster.push(l.proxy.toMasterNow(data))
		}
		if err != nil {
			return
		}
	}
}

// cut ends the link, with a RST to both sides where reset is true. Only the first call has an effect.
func (l *link) cut(reset bool) {
	l.mu.Lock()
	first := !l.hasEnded()
	l.cancel()
	master := l.master
	l.mu.Unlock()
	if !first {
		return
	}
	l.toMaster.kill()
	l.toClient.kill()
	for _, conn := range []*net.TCPConn{l.client, master} {
		if conn == nil {
			continue
		}
		if reset {
			_ = conn.SetLinger(0)
		}
		_ = conn.Close()
	}
	l.proxy.forget(l)
}

// setMaster reports whether the link still lives, and then takes the connection over.
func (l *link) setMaster(conn *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hasEnded() {
		return false
	}
	l.master = conn
	return true
}

func (l *link) damage() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.damaged = true
}

func (l *link) isDamaged() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.damaged
}

func (l *link) clientGone() bool { return isClosed(l.gone) }

func (l *link) hasEnded() bool { return isClosed(l.done) }

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (l *link) wasReset() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.masterReset
}

// ended notes how the master ended its side.
func (l *link) ended(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.masterReset = errors.Is(err, syscall.ECONNRESET)
}
