package testcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// processes are redis-server children of this process.
type processes struct{}

// serverPath finds redis-server: the installed one, else one that the project's script unpacks into its cache.
var serverPath = sync.OnceValues(func() (string, error) {
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return RunScript(ctx, "redis-server.sh")
})

func (processes) Present(context.Context) error {
	_, err := serverPath()
	return err
}

func (processes) Launch(ctx context.Context, addr string, s Settings) (Master, error) {
	path, err := serverPath()
	if err != nil {
		return nil, err
	}
	sweep()
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	p := &process{path: path, addr: addr, dir: dir, settings: s}
	if s.MovableClocks {
		p.face, err = newFace(filepath.Join(dir, "clock"))
	}
	if err == nil {
		err = p.Start(ctx, true)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// dirPrefix begins the names of the masters' folders; the number of the process that made them and a dash follow.
const dirPrefix = "go-redlock-master-"

// sweep removes, once, the folders of processes that were killed before they could do it.
var sweep = sync.OnceFunc(func() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	if err != nil {
		return // cannot happen: the pattern is well formed
	}
	for _, dir := range dirs {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dirPrefix), "-")
		if pid, err := strconv.Atoi(owner); err == nil && isGone(pid) {
			_ = os.RemoveAll(dir) // somebody else's, or another process was faster
		}
	}
})

// process is one redis-server, alive or dead.
type process struct {
	path, addr, dir string
	settings        Settings
	face            *face // nil: the clock cannot be moved

	child *exec.Cmd     // nil: none was started
	ended chan struct{} // closed when child has ended
}

func (p *process) Can(f Fault) bool {
	switch f {
	case Stop:
		return canSignal
	case Clock:
		return p.face != nil
	default:
		return true
	}
}

func (p *process) Start(ctx context.Context, empty bool) error {
	data := filepath.Join(p.dir, "data")
	if empty {
		if err := os.RemoveAll(data); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		return err
	}
	args := append([]string{"--bind", host, "--port", port, "--dir", data, "--daemonize", "no"}, p.settings.ServerFlags()...)
	log, err := os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	env, err := p.clockEnv()
	if err != nil {
		return err
	}
	child := exec.Command(p.path, args...)
	child.Env = os.Environ()
	for name, value := range env {
		child.Env = append(child.Env, name+"="+value)
	}
	child.Stdout, child.Stderr = log, log
	child.SysProcAttr = dieWithParent()
	if err := child.Start(); err != nil {
		return err
	}
	return p.await(ctx, child)
}

// await returns when the child answers PING, or has ended, with the last that it said.
func (p *process) await(ctx context.Context, child *exec.Cmd) error {
	ended := make(chan struct{})
	p.child, p.ended = child, ended
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		err := child.Wait()
		cancel(fmt.Errorf("redis-server ended: %w", err))
		close(ended)
	}()
	if err := AwaitPong(ctx, p.addr); err != nil {
		said, _ := os.ReadFile(filepath.Join(p.dir, "log"))
		return errors.Join(fmt.Errorf("%w; it said: %s", err, strings.TrimSpace(string(said))), p.Kill(context.Background()))
	}
	return nil
}

func (p *process) Kill(ctx context.Context) error {
	if err := p.child.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *process) Stop(ctx context.Context) error {
	if err := standStill(p.child.Process); err != nil {
		return err
	}
	return AwaitStill(ctx, p.child.Process.Pid)
}

func (p *process) Continue(context.Context) error { return goOn(p.child.Process) }

func (p *process) Close() error {
	var err error
	if p.child != nil {
		err = p.Kill(context.Background())
	}
	if p.face != nil {
		err = errors.Join(err, p.face.file.Close())
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
