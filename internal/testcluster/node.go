package testcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// Node is one master and the proxy in front of it. Its methods may be called concurrently; those that change the
// master take turns.
type Node struct {
	backend  Backend
	settings Settings
	direct   string
	owned    bool // direct is a port of ours
	proxy    *Proxy

	mu     sync.Mutex // protects what follows
	master Master
	state  state
	filter *filter // not nil: partitioned
}

type state string

const (
	running state = "running"
	still   state = "stopped"
	dead    state = "killed"
)

// startNode starts a master at the address given, or at one of ours for "", and its proxy. After an error nothing is
// left running.
func startNode(ctx context.Context, b Backend, l Launcher, s Settings, given string) (*Node, error) {
	n := &Node{backend: b, settings: s, direct: given, owned: given == "", state: running}
	if n.owned {
		addr, err := takePort()
		if err != nil {
			return nil, err
		}
		n.direct = addr
	}
	var err error
	if n.proxy, err = startProxy(n.direct); err != nil {
		return nil, errors.Join(err, n.close())
	}
	if n.master, err = l.Launch(ctx, n.direct, s); err != nil {
		n.master = nil
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// startProxy starts a proxy to a master. What a process that was killed had begun to start may bind a port of the block that
// is ours by now, between our look at the port and its use; such a port is left to it.
func startProxy(master string) (*Proxy, error) {
	for {
		front, err := takePort()
		if err != nil {
			return nil, err
		}
		p, err := newProxy(front, master)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			givePort(front)
			return nil, err
		}
	}
}

// Addr returns the address of the proxy, which is what clients dial. It is the same across restarts.
func (n *Node) Addr() string { return n.proxy.Addr() }

// Direct returns the address of the master itself. It is the same across restarts.
func (n *Node) Direct() string { return n.direct }

// Proxy returns the proxy in front of the master.
func (n *Node) Proxy() *Proxy { return n.proxy }

// Can reports whether the back end can make this fault here.
func (n *Node) Can(f Fault) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f == Partition {
		return n.owned && filtersWork()
	}
	return n.master.Can(f)
}

// Kill ends the master as kill -9 does and returns when it is gone: from then until Start connections to Addr and to
// Direct are refused. A stopped master can be killed, a killed one not again.
func (n *Node) Kill(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state == dead {
		return n.wrong("kill")
	}
	if err := n.master.Kill(ctx); err != nil {
		return err
	}
	n.state = dead
	if err := n.proxy.setDown(true); err != nil {
		return err
	}
	if n.filter != nil {
		return nil // nothing can be seen of the port
	}
	return awaitRefused(ctx, n.direct)
}

// Start starts a killed master: with its data, which the cluster must be [Persistent] for, or empty. It returns when
// the master answers PING. Scripts are forgotten in both cases.
func (n *Node) Start(ctx context.Context, empty bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.state != dead:
		return n.wrong("start")
	case !empty && !n.settings.Persistent:
		return errors.New("testcluster: the master was not started with Persistent and has no data to come back with")
	case n.filter != nil:
		return errors.New("testcluster: heal the partition first: nobody could see the master start")
	}
	if err := n.master.Start(ctx, empty); err != nil {
		return err
	}
	n.state = running
	return n.proxy.setDown(false)
}

// Stop makes the master stand still: it accepts connections and takes what fits into the buffers of the kernel, but
// answers nothing until Continue. Stopping a stopped master does nothing.
func (n *Node) Stop(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state == still {
		return nil
	}
	if n.state == dead {
		return n.wrong("stop")
	}
	if err := n.master.Stop(ctx); err != nil {
		return err
	}
	n.state = still
	return nil
}

// Continue ends what Stop began, and does nothing otherwise. What clients sent meanwhile is run now, also for those
// that have gone.
func (n *Node) Continue(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != still {
		return nil
	}
	if err := n.master.Continue(ctx); err != nil {
		return err
	}
	n.state = running
	return nil
}

// Partition drops all packets to and from Addr and Direct, in both directions, without a word to either side. A second
// one does nothing.
func (n *Node) Partition(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.filter != nil {
		return nil
	}
	if !n.owned {
		return fmt.Errorf("testcluster: the master at %s is not ours to cut off: %w", n.direct, errors.ErrUnsupported)
	}
	f, err := dropPackets(ctx, n.direct, n.proxy.Addr())
	if err != nil {
		return err
	}
	n.filter = f
	return nil
}

// Heal ends what Partition began, and does nothing otherwise. The kernels retransmit what they still have.
func (n *Node) Heal(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.healLocked(ctx)
}

func (n *Node) healLocked(ctx context.Context) error {
	if n.filter == nil {
		return nil
	}
	f := n.filter
	n.filter = nil
	return f.lift(ctx)
}

// close ends whatever of the node was started.
func (n *Node) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	errs := []error{n.healLocked(ctx)}
	if n.proxy != nil {
		errs = append(errs, n.proxy.close())
		givePort(n.proxy.Addr())
	}
	if n.master != nil {
		errs = append(errs, n.master.Close())
	}
	if n.owned && n.direct != "" {
		givePort(n.direct)
	}
	return errors.Join(errs...)
}

func (n *Node) wrong(what string) error {
	return fmt.Errorf("testcluster: cannot %s the master at %s: it is %s", what, n.direct, n.state)
}

// awaitRefused returns when nobody listens on addr any more.
func awaitRefused(ctx context.Context, addr string) error {
	d := net.Dialer{Timeout: time.Second}
	for {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if ctx.Err() != nil {
			return fmt.Errorf("testcluster: %s still accepts connections: %w", addr, context.Cause(ctx))
		}
		if err != nil {
			return nil
		}
		_ = conn.Close()
		time.Sleep(2 * time.Millisecond)
	}
}
