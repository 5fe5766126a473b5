package quorum_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/redlock"
)

// A test binary with this variable plays another process: its value is one of the roles below. What it is told comes on
// its standard input, a word a line, and it ends with that; what it says goes to its standard output, a line each.
const (
	roleVariable   = "REDLOCK_TEST_ROLE"
	urlsVariable   = "REDLOCK_TEST_URLS"
	prefixVariable = "REDLOCK_TEST_PREFIX"
	fileVariable   = "REDLOCK_TEST_FILE"
)

var roles = map[string]func(l *redlock.Locker) error{
	"asked":   tryWhenAsked,
	"holder":  holdForEver,
	"counter": countInFile,
	"renewer": renewUntilStopped,
	"fencer":  takeFenced,
	"resumer": resumeWhenAsked,
}

// patient are the roles in which a node may take its time.
var patient = []string{"counter", "keeper", "resumer"}

const (
	holderTTL      = 3 * time.Second
	askedTimeout   = 200 * time.Millisecond
	countGoroutine = 3  // a process
	countSections  = 12 // a goroutine
)

func play(role string) int {
	timeout := askedTimeout
	if slices.Contains(patient, role) {
		timeout = generous
	}
	l, err := redlock.Open(strings.Split(os.Getenv(urlsVariable), ","),
		redlock.WithPrefix(os.Getenv(prefixVariable)), redlock.WithNodeTimeout(timeout))
	if err == nil {
		err = roles[role](l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// tryWhenAsked takes a lock on each key that it is told, gives it back, and says how that went.
func tryWhenAsked(l *redlock.Locker) error {
	ctx := context.Background()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		lock, err := l.TryLock(ctx, in.Text())
		if err == nil {
			err = lock.Unlock(ctx)
		}
		fmt.Println(strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
	}
	return nil
}

// holdForEver takes a lock and keeps it for as long as it lives.
func holdForEver(l *redlock.Locker) error {
	if _, err := l.TryLock(context.Background(), "k", redlock.WithTTL(holderTTL)); err != nil {
		return err
	}
	fmt.Println("held")
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// countInFile adds to the number in a file, which is right only if nobody else is between the reading and the writing.
func countInFile(l *redlock.Locker) error {
	file := os.Getenv(fileVariable)
	var all sync.WaitGroup
	errs := make(chan error, countGoroutine)
	for range countGoroutine {
		all.Go(func() {
			for range countSections {
				if err := countOnce(l, file); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs // nil if there is none
}

func countOnce(l *redlock.Locker, file string) error {
	ctx, cancel := bounded()
	defer cancel()
	lock, err := l.Lock(ctx, "counter", redlock.WithBackoff(5*time.Millisecond, 50*time.Millisecond))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600); err != nil {
		return err
	}
	return lock.Unlock(ctx)
}

// child is another process, which ends with the test at the latest.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   *os.File
	said *bufio.Scanner
	end  func() error // waits for its end, and returns what it complained of; may be called again
}

// child starts another process in one of the roles.
func (tr *trial) child(role string, env ...string) *child {
	tr.t.Helper()
	program, err := os.Executable()
	require.NoError(tr.t, err)
	return tr.childOf(program, role, env...)
}

// childOf is child for another build of these tests.
func (tr *trial) childOf(program, role string, env ...string) *child {
	tr.t.Helper()
	c := &child{t: tr.t, cmd: exec.Command(program)}
	c.cmd.Env = append(append(os.Environ(), roleVariable+"="+role, prefixVariable+"="+tr.prefix,
		urlsVariable+"="+strings.Join(tr.urls(false), ",")), env...)
	var complaints bytes.Buffer
	c.cmd.Stderr = &complaints
	r, w, err := os.Pipe()
	require.NoError(tr.t, err)
	c.cmd.Stdin, c.in = r, w
	out, err := c.cmd.StdoutPipe()
	require.NoError(tr.t, err)
	c.said = bufio.NewScanner(out)
	require.NoError(tr.t, c.cmd.Start())
	require.NoError(tr.t, r.Close())
	c.end = sync.OnceValue(func() error {
		if err := c.cmd.Wait(); err != nil {
			return fmt.Errorf("%w: %s", err, complaints.Bytes())
		}
		return nil
	})
	tr.t.Cleanup(func() {
		_ = w.Close()
		_ = c.cmd.Process.Kill() // it may have ended
		_ = c.end()
	})
	return c
}

func (c *child) tell(line string) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.in, line)
	require.NoError(c.t, err)
}

// hear returns the next line that the process says.
func (c *child) hear() string {
	c.t.Helper()
	require.True(c.t, c.said.Scan(), "the other process says nothing more: %v", c.said.Err())
	return c.said.Text()
}
