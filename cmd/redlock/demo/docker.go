package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// dockerLimit bounds one call of docker: without it a daemon that hangs would hold up the cleaning, too.
const dockerLimit = time.Minute

func init() {
	testcluster.Register(testcluster.Containers, &dockers{ask: docker, image: serverImage})
}

// docker runs the container program and returns what it printed. It is not interrupted when ctx ends, and, started apart,
// nor by the terminal's Ctrl-C: half of a `docker run` would leave a container that nobody knows of.
func docker(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dockerLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.SysProcAttr = apart()
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("docker %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// serverImage returns the image of REDLOCK_IMAGE, else the one that the project's script pulls or builds.
func serverImage(ctx context.Context) (string, error) {
	if image := os.Getenv("REDLOCK_IMAGE"); image != "" {
		return image, nil
	}
	return testcluster.RunScript(ctx, "redis-image.sh")
}

// dockers are containers, by way of the docker program: this binary is no client of Docker.
type dockers struct {
	ask   func(ctx context.Context, args ...string) (string, error)
	image func(ctx context.Context) (string, error)

	mu   sync.Mutex
	name string // of the image; "" before Present
}

func (d *dockers) Present(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.ask(ctx, "version", "--format", "{{.Server.Version}}"); err != nil {
		return err
	}
	var err error
	d.name, err = d.image(ctx)
	return err
}

func (d *dockers) Launch(ctx context.Context, addr string, s testcluster.Settings) (testcluster.Master, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	image := d.name
	d.mu.Unlock()
	name := fmt.Sprintf("redlock-demo-%d-%s", os.Getpid(), port)
	m := &container{ask: d.ask, addr: addr, name: name}
	m.run = []string{"run", "--detach", "--name", name, "--publish", net.JoinHostPort(host, port) + ":6379", image, "redis-server"}
	m.run = append(append(m.run, "--dir", "/data", "--protected-mode", "no"), s.ServerFlags()...)
	if err := m.create(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// container is one master; its name outlives each start, and so does its port.
type container struct {
	ask        func(ctx context.Context, args ...string) (string, error)
	addr, name string
	run        []string
}

func (m *container) create(ctx context.Context) error {
	if err := m.do(ctx, m.run...); err != nil {
		return err
	}
	return testcluster.AwaitPong(ctx, m.addr)
}

func (m *container) do(ctx context.Context, args ...string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_, err := m.ask(ctx, args...)
	return err
}

// Can is always true: a container is a real server, and what it wrote outlives a kill.
func (m *container) Can(testcluster.Fault) bool { return true }

func (m *container) Kill(ctx context.Context) error {
	if err := m.do(ctx, "kill", m.name); err != nil {
		return err
	}
	return m.do(ctx, "wait", m.name)
}

func (m *container) Start(ctx context.Context, empty bool) error {
	if empty {
		if err := m.do(ctx, "rm", "--volumes", m.name); err != nil {
			return err
		}
		return m.create(ctx)
	}
	if err := m.do(ctx, "start", m.name); err != nil {
		return err
	}
	return testcluster.AwaitPong(ctx, m.addr)
}

func (m *container) Stop(ctx context.Context) error { return m.do(ctx, "pause", m.name) }

func (m *container) Continue(ctx context.Context) error { return m.do(ctx, "unpause", m.name) }

// Close removes the container in any state, and whatever became of the caller's context.
func (m *container) Close() error {
	ctx := context.Background() //nolint:forbidigo // there is none to take, and ask has a bound of its own
	_, err := m.ask(ctx, "rm", "--force", "--volumes", m.name)
	return err
}
