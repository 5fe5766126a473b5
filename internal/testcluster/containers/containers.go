// Package containers makes masters in containers known to package testcluster, through testcontainers. Import it for
// its effect, and from tests only: it links a client of the container engine.
//
// The image is the one that scripts/redis-image.sh names, and builds where it cannot be had. Every container carries
// the label go-redlock.run; when the process that started it ends, however it ends, a watching shell removes what it
// left. Should that be killed, too, `docker ps -a --filter label=go-redlock.run` lists what is left.
package containers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

const (
	runLabel   = "go-redlock.run"
	buildLimit = 5 * time.Minute
)

func init() { testcluster.Register(testcluster.Containers, launcher{}) }

// engine is what all containers of this process share.
type engine struct {
	api   client.APIClient
	image string
	run   string   // the value of runLabel
	alive *os.File // closed by the end of this process and by nothing else
}

// connect finds the engine and the image, and starts the watch; once.
var connect = sync.OnceValues(func() (*engine, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, err
	}
	// The watch below does what Ryuk is for, without an image that may be out of reach.
	if err := setDefault("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
		return nil, err
	}
	log.SetDefault(log.NewNoopLogger())
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return nil, err
	}
	e := &engine{api: provider.Client(), run: rand.Text()}
	// Ports are published on loopback, where they are of use to an engine of this machine only. Nothing here asks
	// testcontainers for the engine's host, which it takes for the default gateway on a machine with a /.dockerenv.
	host, err := url.Parse(e.api.DaemonHost())
	if err != nil || host.Scheme != "unix" && host.Scheme != "npipe" {
		return nil, errors.Join(fmt.Errorf("the container engine at %s is not on this machine", e.api.DaemonHost()), err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	if e.image, err = testcluster.RunScript(ctx, "redis-image.sh"); err != nil {
		return nil, err
	}
	return e, e.watch()
})

func setDefault(variable, value string) error {
	if _, set := os.LookupEnv(variable); set {
		return nil
	}
	return os.Setenv(variable, value)
}

// watch starts a shell that waits for the end of this process, which is the end of its input, and removes what
// containers are left then. It heeds none of the signals that a terminal sends to all at once.
func (e *engine) watch() error {
	const script = `trap '' INT TERM HUP QUIT
read -r _
left=$(docker ps --all --quiet --filter "label=$1")
[ -z "$left" ] || docker rm --force --volumes $left`
	input, output, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }() // the child has its own descriptor
	shell := exec.Command("sh", "-c", script, "sh", runLabel+"="+e.run)
	shell.Stdin = input
	if err := shell.Start(); err != nil {
		return errors.Join(err, output.Close())
	}
	e.alive = output
	return nil
}

type launcher struct{}

func (launcher) Present(context.Context) error {
	_, err := connect()
	return err
}

func (launcher) Launch(ctx context.Context, addr string, s testcluster.Settings) (testcluster.Master, error) {
	e, err := connect()
	if err != nil {
		return nil, err
	}
	m := &master{engine: e, addr: addr, settings: s}
	if err := m.create(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}
