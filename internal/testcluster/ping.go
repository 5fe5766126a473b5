package testcluster

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// startLimit bounds how long a single server may take to answer its first PING.
const startLimit = 30 * time.Second

// AwaitPong returns when the server at addr answers PING, or asks for a password. It gives up when ctx ends, with its
// cause, or after 30 s.
func AwaitPong(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for {
		err := pong(ctx, addr)
		if err == nil {
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("the server at %s does not answer (%w): %w", addr, err, context.Cause(ctx))
		}
	}
}

// pong asks once.
func pong(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		return err
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	for _, ready := range []string{"+PONG", "-NOAUTH", "-NOPERM"} {
		if strings.HasPrefix(reply, ready) {
			return nil
		}
	}
	return fmt.Errorf("not ready: %s", strings.TrimSpace(reply))
}
