package sqltest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

const (
	startLimit = time.Minute // for a server; an image takes what it takes, and is built once
	endLimit   = 30 * time.Second
)

//go:embed serve.sh
var serve string

// server is a PostgreSQL that serve.sh runs, in a container or as a process.
type server struct {
	url     string // of the superuser
	version string

	child *exec.Cmd
	input io.Closer // whose end ends the server
	said  *output
	ended chan struct{} // closed when child has ended
	dir   string        // "" for a container
}

// errAbsent is of a server that cannot be had on this machine, which is no fault of the library's.
var errAbsent = errors.New("not present")

// container starts a server in a container, whose port is published on loopback only.
func container(ctx context.Context) (*server, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	}
	script := exec.CommandContext(ctx, "./postgres-image.sh")
	script.Stderr = os.Stderr
	image, err := script.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: postgres-image.sh: %w", errAbsent, err)
	}
	name, password := "go-redlock-sqltest-"+strings.ToLower(rand.Text()), rand.Text()
	s, err := launch(exec.Command("docker", "run", "--interactive", "--rm", "--name", name, "--user", "postgres",
		"--publish", "127.0.0.1::5432", "--entrypoint", "sh", strings.TrimSpace(string(image)),
		"-c", serve, "serve.sh", "/tmp", "0.0.0.0"), password)
	if err != nil {
		return nil, err
	}
	return s, s.await(ctx, func() (string, error) {
		port, err := exec.CommandContext(ctx, "docker", "port", name, "5432/tcp").Output()
		if err != nil {
			return "", err
		}
		host, _, _ := strings.Cut(string(port), "\n")
		return (&url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password), Host: host, Path: "/postgres"}).String(), nil
	})
}

// process starts the server that is installed, reachable by a socket in its folder only.
func process(ctx context.Context) (*server, error) {
	bin, err := installed()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sqltest-") // a socket's path has a hundred bytes: t.TempDir's may be too long
	if err != nil {
		return nil, err
	}
	password := rand.Text()
	child := exec.Command("sh", "-c", serve, "serve.sh", dir, "")
	child.Dir = dir
	child.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := unprivileged(child, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errAbsent, err), os.RemoveAll(dir))
	}
	s, err := launch(child, password)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.dir = dir
	return s, s.await(ctx, func() (string, error) {
		u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password), Path: "/postgres"}
		u.RawQuery = url.Values{"host": {dir}}.Encode()
		return u.String(), nil
	})
}

// installed returns the folder of initdb and postgres. Debian's is in no PATH.
func installed() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("%w: no initdb is installed", errAbsent)
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func launch(child *exec.Cmd, password string) (*server, error) {
	input, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	s := &server{child: child, input: input, said: &output{}, ended: make(chan struct{})}
	child.Stdout, child.Stderr = s.said, s.said
	if err := child.Start(); err != nil {
		return nil, err
	}
	go func() { // owned by s: close waits for its end
		_ = child.Wait()
		close(s.ended)
	}()
	_, err = io.WriteString(input, password+"\n")
	if err != nil {
		err = errors.Join(err, s.close())
	}
	return s, err
}

// await returns when the server answers at the address that where tells as soon as it knows. After an error nothing is left.
func (s *server) await(ctx context.Context, where func() (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		var err error
		if s.url == "" {
			s.url, err = where()
		}
		if err == nil {
			s.version, err = version(ctx, s.url)
		}
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return errors.Join(fmt.Errorf("PostgreSQL ended; it said: %s", s.said), s.close())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("PostgreSQL does not answer: %w; it said: %s", err, s.said), s.close())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func version(ctx context.Context, u string) (string, error) {
	db, err := sql.Open("pgx", u)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	var v string
	return v, db.QueryRowContext(ctx, "SHOW server_version").Scan(&v)
}

// close ends the server and waits until nothing of it is left.
func (s *server) close() error {
	_ = s.input.Close() // fails where the child has ended
	select {
	case <-s.ended:
	case <-time.After(endLimit):
		return fmt.Errorf("PostgreSQL does not end; it said: %s", s.said)
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// output is what a child said.
type output struct {
	mu  sync.Mutex // protects buf
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	const most = 2000 // its last words are those that matter
	said := o.buf.Bytes()
	return strings.TrimSpace(string(said[max(0, len(said)-most):]))
}
