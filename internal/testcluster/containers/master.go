package containers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

const (
	insidePort = 6379
	closeLimit = time.Minute
)

// master is one redis-server in a container, alive or dead.
type master struct {
	engine   *engine
	addr     string
	settings testcluster.Settings
	box      *testcontainers.DockerContainer // nil: none was created
}

func (m *master) Can(f testcluster.Fault) bool { return f != testcluster.Clock }

// create creates and starts a container that publishes the server's port at the master's address. The port is asked
// for and not drawn: a drawn one would be drawn anew at every start.
func (m *master) create(ctx context.Context) error {
	host, port, err := net.SplitHostPort(m.addr)
	if err != nil {
		return err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	inside := strconv.Itoa(insidePort)
	bindings := network.PortMap{
		network.MustParsePort(inside + "/tcp"): {{HostIP: ip, HostPort: port}},
	}
	command := append([]string{"redis-server", "--port", inside, "--dir", "/data", "--protected-mode", "no"},
		m.settings.ServerFlags()...)
	clock, err := m.wallClock()
	if err != nil {
		return err
	}
	box, err := testcontainers.Run(ctx, m.engine.image,
		clock,
		testcontainers.WithExposedPorts(inside+"/tcp"),
		testcontainers.WithHostConfigModifier(func(c *container.HostConfig) { c.PortBindings = bindings }),
		testcontainers.WithLabels(map[string]string{runLabel: m.engine.run}),
		testcontainers.WithCmd(command...),
	)
	m.box = box
	if err != nil {
		return err
	}
	return m.await(ctx)
}

// wallClock puts the server's wall clock ahead as its settings say.
func (m *master) wallClock() (testcontainers.CustomizeRequestOption, error) {
	const inside = "/wall-clock.so"
	env, library, err := m.settings.WallClockEnv(inside)
	return func(req *testcontainers.GenericContainerRequest) error {
		if library == "" {
			return nil
		}
		file := testcontainers.ContainerFile{HostFilePath: library, ContainerFilePath: inside, FileMode: 0o755}
		return errors.Join(testcontainers.WithEnv(env)(req), testcontainers.WithFiles(file)(req))
	}, err
}

// await returns when the server answers PING, or has ended, with the last it said.
func (m *master) await(ctx context.Context) error {
	pongCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if m.awaitEnd(pongCtx) == nil {
			cancel(errors.New("redis-server ended"))
		}
	}()
	err := testcluster.AwaitPong(pongCtx, m.addr)
	if err == nil {
		return nil
	}
	logs, logErr := m.box.Logs(ctx)
	if logErr != nil {
		return errors.Join(err, logErr)
	}
	defer func() { _ = logs.Close() }()
	said, _ := io.ReadAll(io.LimitReader(logs, 4<<10))
	return fmt.Errorf("%w; it said: %s", err, said)
}

// awaitEnd returns nil when the engine knows that the container does not run.
func (m *master) awaitEnd(ctx context.Context) error {
	waiting := m.engine.api.ContainerWait(ctx, m.box.ID, client.ContainerWaitOptions{
		Condition: container.WaitConditionNotRunning,
	})
	select {
	case <-waiting.Result:
		return nil
	case err := <-waiting.Error:
		return err
	}
}

func (m *master) Kill(ctx context.Context) error {
	if err := m.signal(ctx, "KILL"); err != nil {
		return err
	}
	// Before, the engine takes a start for a start of what runs.
	return m.awaitEnd(ctx)
}

// Start starts the container again, whose files are those it had, or another in its place where they must not be.
func (m *master) Start(ctx context.Context, empty bool) error {
	if empty && m.settings.Persistent {
		if err := m.Close(); err != nil {
			return err
		}
		return m.create(ctx)
	}
	if err := m.box.Start(ctx); err != nil {
		return err
	}
	return m.await(ctx)
}

func (m *master) Stop(ctx context.Context) error {
	if err := m.signal(ctx, "STOP"); err != nil {
		return err
	}
	info, err := m.box.Inspect(ctx)
	if err != nil {
		return err
	}
	// An engine in another process namespace counts differently: its number may be anybody's here.
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", info.State.Pid))
	if err != nil || !bytes.Contains(line, []byte("redis-server")) {
		return nil
	}
	return testcluster.AwaitStill(ctx, info.State.Pid)
}

func (m *master) Continue(ctx context.Context) error { return m.signal(ctx, "CONT") }

func (m *master) signal(ctx context.Context, name string) error {
	_, err := m.engine.api.ContainerKill(ctx, m.box.ID, client.ContainerKillOptions{Signal: name})
	return err
}

func (m *master) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	err := m.box.Terminate(ctx, testcontainers.StopTimeout(0))
	m.box = nil
	return err
}
