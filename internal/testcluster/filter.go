package testcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
)

// filter is a rule of the kernel that drops packets. It belongs to a child process that owns its table: when the child
// ends, because we say so or because we died, the kernel takes the table away. Nothing else on the machine is touched.
type filter struct {
	child *exec.Cmd
	input io.WriteCloser
	said  *bufio.Reader
}

// filtersWork reports whether this process may make filters here; asked once.
var filtersWork = sync.OnceValue(func() bool {
	addr, err := takePort()
	if err != nil {
		return false
	}
	defer givePort(addr)
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	f, err := dropPackets(ctx, addr)
	if err != nil {
		return false
	}
	return f.lift(ctx) == nil
})

// dropPackets drops what arrives on the loopback interface from or for the ports of these addresses. The rule is in
// force when it returns. Packets are dropped on arrival and not on departure: the sender must not be told.
func dropPackets(ctx context.Context, addrs ...string) (*filter, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("testcluster: packets can be dropped on Linux only: %w", errors.ErrUnsupported)
	}
	ports := make([]string, len(addrs))
	for i, addr := range addrs {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		ports[i] = port
	}
	f, err := startFilter()
	if err != nil {
		return nil, err
	}
	table := fmt.Sprintf("inet go_redlock_%d_%s", os.Getpid(), ports[0])
	set := "{ " + strings.Join(ports, ", ") + " }"
	err = f.say(ctx,
		"add table "+table+" { flags owner; }",
		"add chain "+table+" in { type filter hook input priority -300; }",
		"add rule "+table+" in iifname lo tcp dport "+set+" drop",
		"add rule "+table+" in iifname lo tcp sport "+set+" drop",
		"list table "+table,
	)
	if err != nil {
		return nil, errors.Join(err, f.lift(ctx))
	}
	return f, nil
}

func startFilter() (*filter, error) {
	child := exec.Command("nft", "-i")
	input, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	child.Stderr = child.Stdout
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("testcluster: packet filter: %w", err)
	}
	return &filter{child: child, input: input, said: bufio.NewReader(output)}, nil
}

// say gives the lines to the child, the last of which lists the table, and returns when it listed both rules. An
// error is whatever else the child says.
func (f *filter) say(ctx context.Context, lines ...string) error {
	stop := context.AfterFunc(ctx, func() { _ = f.child.Process.Kill() })
	defer stop()
	if _, err := io.WriteString(f.input, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("testcluster: packet filter: %w", err)
	}
	for drops := 0; drops < 2; {
		line, err := f.said.ReadString('\n')
		switch {
		case err != nil:
			return fmt.Errorf("testcluster: packet filter: %w", errors.Join(err, context.Cause(ctx)))
		case strings.Contains(line, "Error"):
			return fmt.Errorf("testcluster: packet filter: %s", strings.TrimSpace(line))
		case strings.HasSuffix(strings.TrimSpace(line), "drop"):
			drops++
		}
	}
	return nil
}

// lift ends the rule and the child, and returns when both are gone.
func (f *filter) lift(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = f.child.Process.Kill() })
	defer stop()
	_ = f.input.Close() // at the end of its input the child ends
	_, _ = io.Copy(io.Discard, f.said)
	if err := f.child.Wait(); err != nil && ctx.Err() != nil {
		return fmt.Errorf("testcluster: packet filter: %w", err)
	}
	return nil
}
