// Package link puts a simulated distance between a client and its nodes: a TCP
// relay that hands every chunk on a fixed time after it came, in both directions,
// with no limit on throughput. It runs as a process of its own, so that its work
// does not count as the client's.
package link

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// environ names the variable that makes a start of this program a relay.
const environ = "REDLOCK_BENCH_LINK"

// startTimeout bounds the wait for the relay's addresses.
const startTimeout = 5 * time.Second

// Links is a running relay in front of some nodes.
type Links struct {
	// Addrs has the relay's address for each node, in the order given to Start.
	Addrs []string

	process *exec.Cmd
	stdin   io.Closer
}

// Start runs this executable again as a relay in front of addrs, which adds
// roundTrip/2 either way. The program must call ServeIfAsked first thing in main
// (or TestMain). After an error nothing is left running.
func Start(ctx context.Context, addrs []string, roundTrip time.Duration) (*Links, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), environ+"="+(roundTrip/2).String()+" "+strings.Join(addrs, " "))
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	l := &Links{process: cmd, stdin: stdin}
	// A relay that hangs before it prints is killed, which ends the read below.
	guard := time.AfterFunc(startTimeout, func() { _ = cmd.Process.Kill() })
	defer guard.Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		l.Addrs = strings.Fields(line)
	}
	if len(l.Addrs) != len(addrs) {
		return nil, errors.Join(fmt.Errorf("link: the relay answered %q", line), err, l.Close())
	}
	return l, nil
}

// Close ends the relay and with it every connection through it.
func (l *Links) Close() error {
	_ = l.stdin.Close() // the relay ends at the end of its standard input
	if err := l.process.Wait(); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	return nil
}

// ServeIfAsked returns at once unless Start began this process; then it relays
// until its standard input ends, and exits.
func ServeIfAsked() {
	order := os.Getenv(environ)
	if order == "" {
		return
	}
	if err := serve(strings.Fields(order), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
