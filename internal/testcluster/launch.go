package testcluster

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Settings is what the options of [Start] add up to; for who writes a [Launcher].
type Settings struct {
	Persistent bool     // keep every change on disk before it is answered
	Args       []string // further arguments of redis-server

	WallClock     time.Duration   // by how much this master's wall clock is ahead
	wallClocks    []time.Duration // of all nodes
	MovableClocks bool            // and it can be moved while the master runs, where the back end can
}

// ServerFlags returns the arguments of a redis-server with these settings, without its address and folder.
func (s Settings) ServerFlags() []string {
	flags := []string{"--save", "", "--maxmemory-policy", "noeviction", "--appendonly"}
	if s.Persistent {
		flags = append(flags, "yes", "--appendfsync", "always")
	} else {
		flags = append(flags, "no")
	}
	return append(flags, s.Args...)
}

// Launcher starts the masters of one back end.
type Launcher interface {
	// Present returns nil where this back end can be used, else why not. It may take as long as ctx allows the first
	// time, to build what is missing.
	Present(ctx context.Context) error
	// Launch starts one master at addr, which is on loopback and free. The master answers PING when Launch returns;
	// after an error nothing is left running.
	Launch(ctx context.Context, addr string, s Settings) (Master, error)
}

// Master is one server of a back end, without its proxy. Its methods are called one at a time, and only where they make
// sense: Start on a killed master, Stop on a running one. What a back end lacks returns [errors.ErrUnsupported].
type Master interface {
	Can(f Fault) bool
	Kill(ctx context.Context) error              // the server has ended when it returns
	Start(ctx context.Context, empty bool) error // the server answers PING when it returns
	Stop(ctx context.Context) error
	Continue(ctx context.Context) error
	Close() error // in any state
}

var launchers = struct {
	mu sync.Mutex
	of map[Backend]Launcher
}{of: map[Backend]Launcher{
	Processes: processes{},
	Embedded:  embeddeds{},
	Addresses: addresses{},
}}

// Register makes a back end known under its name. It is called from init functions.
func Register(b Backend, l Launcher) {
	launchers.mu.Lock()
	defer launchers.mu.Unlock()
	launchers.of[b] = l
}

// Present returns nil where this back end can be used, else why not.
func Present(ctx context.Context, b Backend) error {
	l, err := launcherOf(b)
	if err != nil {
		return err
	}
	return l.Present(ctx)
}

func launcherOf(b Backend) (Launcher, error) {
	launchers.mu.Lock()
	defer launchers.mu.Unlock()
	l, ok := launchers.of[b]
	if !ok {
		return nil, fmt.Errorf("testcluster: no back end %q is linked into this program", b)
	}
	return l, nil
}
