package testcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// embeddeds are servers inside this process: they run anywhere in no time, and know what miniredis knows.
type embeddeds struct{}

func (embeddeds) Present(context.Context) error { return nil }

func (embeddeds) Launch(ctx context.Context, addr string, s Settings) (Master, error) {
	if len(s.Args) > 0 || s.WallClock != 0 {
		return nil, fmt.Errorf("embedded servers take no arguments and read our clock: %w", errors.ErrUnsupported)
	}
	e := &embedded{addr: addr, state: dead}
	e.changed.L = &e.mu
	if err := e.Start(ctx, true); err != nil {
		return nil, err
	}
	return e, nil
}

// embedded is one server. Every command passes its gate first: shut, it is a process that stands still, which takes
// what the kernel buffers for it and runs it later; with the server dead, what was read already is not run any more.
type embedded struct {
	addr   string
	server *miniredis.Miniredis // changed by Start only

	mu      sync.Mutex // protects state
	changed sync.Cond
	state   state
}

func (e *embedded) Can(f Fault) bool { return f != Config && f != Clock }

func (e *embedded) gate(*server.Peer, string, ...string) (done bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.state == still {
		e.changed.Wait()
	}
	return e.state == dead
}

func (e *embedded) set(s state) {
	e.mu.Lock()
	e.state = s
	e.mu.Unlock()
	e.changed.Broadcast()
}

func (e *embedded) Kill(context.Context) error {
	e.set(dead)
	e.server.Close()
	return nil
}

func (e *embedded) Start(_ context.Context, empty bool) error {
	if empty {
		e.server = miniredis.NewMiniRedis()
		// Keys expire as time goes by, as on any server, not when a test says so.
		e.server.ClockTTL(true)
	} else if err := e.forgetScripts(); err != nil {
		return err
	}
	e.server.Ctx, e.server.CtxCancel = context.WithCancel(context.Background()) // closing the server ended the old one
	e.set(running)
	if err := e.server.StartAddr(e.addr); err != nil {
		e.set(dead)
		return fmt.Errorf("embedded server: %w", err)
	}
	e.server.Server().SetPreHook(e.gate)
	return nil
}

// forgetScripts empties the script cache of a closed server, which would outlive the restart. It asks over a
// connection in memory, since nobody may see the server up before.
func (e *embedded) forgetScripts() error {
	conn, err := e.server.Dial()
	if err != nil {
		return err
	}
	defer e.server.Close()
	if _, err := conn.Write([]byte("*2\r\n$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n")); err != nil {
		return err
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(reply, "+OK") {
		return fmt.Errorf("embedded server: SCRIPT FLUSH: %s", reply)
	}
	return nil
}

func (e *embedded) Stop(context.Context) error {
	e.set(still)
	return nil
}

func (e *embedded) Continue(context.Context) error {
	e.set(running)
	return nil
}

func (e *embedded) Close() error { return e.Kill(context.Background()) }
