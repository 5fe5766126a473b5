package node

import (
	"bufio"
	"context"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"weak"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// listen answers every command on the listener with PONG until the test ends, and returns how each connection ended.
func listen(t *testing.T, l net.Listener) (ends <-chan error) {
	t.Helper()
	out := make(chan error, 16)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { out <- pongs(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // nothing to lose
		wg.Wait()
	})
	return out
}

func pongs(c net.Conn) error {
	defer func() { _ = c.Close() }()
	for in := bufio.NewReader(c); ; {
		cmd, err := readCommand(in)
		if err != nil {
			return err
		}
		raw := "+PONG\r\n"
		if greeting(cmd) {
			raw = "-ERR unknown command\r\n"
		}
		if _, err := io.WriteString(c, raw); err != nil {
			return err
		}
	}
}

func listenOn(t *testing.T, network, addr string) (string, <-chan error) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), network, addr)
	require.NoError(t, err)
	return l.Addr().String(), listen(t, l)
}

// clientFor is a client that is closed at the end of the test.
func clientFor(t *testing.T, o *redis.Options) *redis.Client {
	t.Helper()
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// onDial is a hook that sees every connection as those behind it left it.
func onDial(f func(net.Conn)) redis.Hook { return dialHook(f) }

// countingConn counts how often somebody reached for the socket.
type countingConn struct {
	net.Conn
	reached *atomic.Int32
}

func (c countingConn) SyscallConn() (syscall.RawConn, error) {
	c.reached.Add(1)
	return c.Conn.(syscall.Conn).SyscallConn()
}

// reachedAtDial dials once and returns how often the client's hooks, but none of the client itself, reached for the socket.
func reachedAtDial(t *testing.T, network, addr string, hook func(*redis.Client)) int32 {
	t.Helper()
	var reached, atDial atomic.Int32
	client := clientFor(t, &redis.Options{
		Network: network, Addr: addr, PoolSize: 1,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return countingConn{c, &reached}, err
		},
	})
	client.AddHook(onDial(func(net.Conn) { atDial.Store(reached.Load()) })) // outermost, so it sees what the others did
	hook(client)
	require.NoError(t, client.Ping(t.Context()).Err())
	return atDial.Load()
}

func TestAClientGetsTheHookOnceHoweverOftenItIsLimited(t *testing.T) {
	t.Parallel()
	addr, _ := listenOn(t, "tcp", "127.0.0.1:0")
	require.EqualValues(t, 1, reachedAtDial(t, "tcp", addr, func(c *redis.Client) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { LimitUnacked(c) })
		}
		wg.Wait()
	}))
}

func TestUnixSocketsAreLeftAlone(t *testing.T) {
	t.Parallel()
	addr, _ := listenOn(t, "unix", filepath.Join(t.TempDir(), "s"))
	require.Zero(t, reachedAtDial(t, "unix", addr, func(c *redis.Client) {
		LimitUnacked(c)
		DiscardOnClose(c)
	}))
}

func TestAConnectionThatHidesItsSocketIsLeftAlone(t *testing.T) {
	t.Parallel()
	addr, _ := listenOn(t, "tcp", "127.0.0.1:0")
	for name, hide := range map[string]func(net.Conn) net.Conn{
		"no socket":        func(c net.Conn) net.Conn { return struct{ net.Conn }{c} },
		"no inner":         func(c net.Conn) net.Conn { return hollow{c} },
		"no address":       func(c net.Conn) net.Conn { return nameless{c} },
		"a broken socket":  func(c net.Conn) net.Conn { return brokenSocket{c} },
		"a wrapped hollow": func(c net.Conn) net.Conn { return wrapping{hollow{c}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := clientFor(t, &redis.Options{
				Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
					c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
					return hide(c), err
				},
			})
			LimitUnacked(client)
			DiscardOnClose(client)
			require.NoError(t, client.Ping(t.Context()).Err())
		})
	}
}

type (
	hollow       struct{ net.Conn }
	nameless     struct{ net.Conn }
	brokenSocket struct{ net.Conn }
	wrapping     struct{ net.Conn }
)

func (hollow) NetConn() net.Conn                           { return nil }
func (nameless) RemoteAddr() net.Addr                      { return nil }
func (brokenSocket) SyscallConn() (syscall.RawConn, error) { return nil, syscall.EINVAL }
func (w wrapping) NetConn() net.Conn                       { return w.Conn }

func TestAFailedDialIsPassedOn(t *testing.T) {
	t.Parallel()
	client := clientFor(t, &redis.Options{
		MaxRetries: -1, DialerRetries: 1,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, errRefusedDial },
	})
	LimitUnacked(client)
	DiscardOnClose(client)
	require.ErrorIs(t, client.Ping(t.Context()).Err(), errRefusedDial)
}

func TestALimitedClientCanBeCollected(t *testing.T) {
	t.Parallel()
	ref := func() weak.Pointer[redis.Client] {
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
		LimitUnacked(client)
		DiscardOnClose(client)
		NewTransport(client.WithTimeout(nodeTimeout))
		require.NoError(t, client.Close())
		return weak.Make(client)
	}()
	_, hooks := hooked.Load(ref)
	require.True(t, hooks)
	require.Eventually(t, func() bool {
		runtime.GC()
		_, hooks := hooked.Load(ref)
		return ref.Value() == nil && !hooks
	}, timeLimit, ms)
}

func TestADiscardingConnectionEndsWithAResetAndOthersDoNot(t *testing.T) {
	t.Parallel()
	for name, discard := range map[string]bool{"discarding": true, "as users have it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, ends := listenOn(t, "tcp", "127.0.0.1:0")
			client := clientFor(t, &redis.Options{Addr: addr, PoolSize: 1})
			LimitUnacked(client)
			if discard {
				DiscardOnClose(client)
			}
			require.NoError(t, client.Ping(t.Context()).Err())
			require.NoError(t, client.Close())
			if end := <-ends; discard {
				require.ErrorIs(t, end, syscall.ECONNRESET)
			} else {
				require.ErrorIs(t, end, io.EOF)
			}
		})
	}
}
