package testcluster_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what must come; hush is how long it listens for what must not.
const (
	patience = 10 * time.Second
	hush     = 80 * time.Millisecond
)

// wire is one connection that speaks RESP2, so that a test knows which byte went where.
type wire struct {
	t    *testing.T
	conn *net.TCPConn
	in   *bufio.Reader
}

func dial(t *testing.T, addr string) *wire {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &wire{t: t, conn: conn.(*net.TCPConn), in: bufio.NewReader(conn)}
}

func encode(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

func (w *wire) send(args ...string) {
	w.t.Helper()
	_, err := w.conn.Write([]byte(encode(args...)))
	require.NoError(w.t, err)
}

// line reads one line, or says why none came within the time.
func (w *wire) line(within time.Duration) (string, error) {
	if err := w.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	text, err := w.in.ReadString('\n')
	return strings.TrimRight(text, "\r\n"), err
}

// ask sends a command and returns its reply: of a string, what is in it.
func (w *wire) ask(args ...string) string {
	w.t.Helper()
	w.send(args...)
	return w.reply()
}

func (w *wire) reply() string {
	w.t.Helper()
	text, err := w.line(patience)
	require.NoError(w.t, err)
	if !strings.HasPrefix(text, "$") || text == "$-1" {
		return text
	}
	text, err = w.line(patience)
	require.NoError(w.t, err)
	return text
}

// silent fails the test when something comes, the end of the stream included.
func (w *wire) silent() {
	w.t.Helper()
	text, err := w.line(hush)
	require.ErrorIs(w.t, err, os.ErrDeadlineExceeded, "read %q", text)
}

// ended fails the test unless the other side ends the stream with nothing more in it.
func (w *wire) ended() {
	w.t.Helper()
	text, err := w.line(patience)
	require.Error(w.t, err)
	require.NotErrorIs(w.t, err, os.ErrDeadlineExceeded, "the stream is still open")
	require.Empty(w.t, text)
}

func refused(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err == nil {
		_ = conn.Close()
	}
	require.ErrorContains(t, err, "refused")
}

// eventually waits for a condition that others bring about and do not signal. It looks from the test's own goroutine.
func eventually(t *testing.T, holds func() bool, what string) {
	t.Helper()
	for begin := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > patience {
			require.FailNow(t, what)
		}
	}
}
