package demo

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// fakeDocker remembers what it was asked, and fails what begins with fail.
type fakeDocker struct {
	asked []string
	fail  string
}

func (f *fakeDocker) ask(_ context.Context, args ...string) (string, error) {
	line := strings.Join(args, " ")
	f.asked = append(f.asked, line)
	if f.fail != "" && strings.HasPrefix(line, f.fail) {
		return "", errors.New("docker: no")
	}
	return "", nil
}

func setupDocker(t *testing.T) (f *fakeDocker, d *dockers, addr, name string) {
	t.Helper()
	// Stands for the server inside the container, which has to answer.
	addr = miniredis.RunT(t).Addr()
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	f = &fakeDocker{}
	d = &dockers{ask: f.ask, image: func(context.Context) (string, error) { return "an-image", nil }}
	require.NoError(t, d.Present(t.Context()))
	f.asked = nil
	return f, d, addr, "redlock-demo-" + strconv.Itoa(os.Getpid()) + "-" + port
}

func TestAContainerKeepsItsNameItsPortAndItsDisk(t *testing.T) {
	t.Parallel()
	f, d, addr, name := setupDocker(t)
	m, err := d.Launch(t.Context(), addr, testcluster.Settings{Persistent: true})
	require.NoError(t, err)
	require.NoError(t, m.Kill(t.Context()))
	require.NoError(t, m.Start(t.Context(), false))
	require.NoError(t, m.Stop(t.Context()))
	require.NoError(t, m.Continue(t.Context()))
	require.NoError(t, m.Close())

	require.Contains(t, f.asked[0], "run --detach --name "+name+" --publish "+addr+":6379 an-image redis-server ")
	require.Contains(t, f.asked[0], "--appendonly yes --appendfsync always")
	require.Equal(t, []string{
		"kill " + name, "wait " + name, "start " + name, "pause " + name, "unpause " + name, "rm --force --volumes " + name,
	}, f.asked[1:])
}

func TestAContainerThatStartsEmptyIsANewOne(t *testing.T) {
	t.Parallel()
	f, d, addr, name := setupDocker(t)
	m, err := d.Launch(t.Context(), addr, testcluster.Settings{})
	require.NoError(t, err)
	require.NoError(t, m.Start(t.Context(), true))
	require.Equal(t, []string{f.asked[0], "rm --volumes " + name, f.asked[0]}, f.asked)
}

func TestAContainerThatDoesNotStartIsRemoved(t *testing.T) {
	t.Parallel()
	f, d, addr, name := setupDocker(t)
	f.fail = "run"
	_, err := d.Launch(t.Context(), addr, testcluster.Settings{})
	require.ErrorContains(t, err, "docker: no")
	require.Equal(t, "rm --force --volumes "+name, f.asked[len(f.asked)-1])
}

func TestAnEndedContextAsksDockerForNothingButTheCleaning(t *testing.T) {
	t.Parallel()
	f, d, addr, name := setupDocker(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Launch(ctx, addr, testcluster.Settings{})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"rm --force --volumes " + name}, f.asked)
}

func TestNoDockerIsNoBackEnd(t *testing.T) {
	t.Parallel()
	f := &fakeDocker{fail: "version"}
	d := &dockers{ask: f.ask, image: func(context.Context) (string, error) { return "an-image", nil }}
	require.ErrorContains(t, d.Present(t.Context()), "docker: no")
}
