package link_test

import (
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/link"
)

func TestMain(m *testing.M) {
	link.ServeIfAsked()
	os.Exit(m.Run())
}

// echo answers every byte on addr until the test ends.
func echo(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() { // ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { // ends with its connection
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func start(t *testing.T, roundTrip time.Duration, addrs ...string) *link.Links {
	t.Helper()
	links, err := link.Start(t.Context(), addrs, roundTrip)
	require.NoError(t, err)
	t.Cleanup(func() { _ = links.Close() })
	return links
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestEveryRoundTripTakesTheDelayAtLeast(t *testing.T) {
	t.Parallel()
	const roundTrip = 5 * time.Millisecond
	conn := dial(t, start(t, roundTrip, echo(t)).Addrs[0])
	for range 20 {
		begin := time.Now()
		_, err := conn.Write([]byte{1})
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 1))
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(begin), roundTrip)
	}
}

// A relay that took one chunk after the other would need 1,000 × 100 ms here.
func TestDelayLimitsNoThroughput(t *testing.T) {
	t.Parallel()
	conn := dial(t, start(t, 100*time.Millisecond, echo(t)).Addrs[0])
	sent := make([]byte, 1000*1000)
	for i := range sent {
		sent[i] = byte(i * 7)
	}
	begin := time.Now()
	var writer sync.WaitGroup
	writer.Go(func() {
		for piece := range slices.Chunk(sent, 1000) {
			_, _ = conn.Write(piece)
		}
	})
	got := make([]byte, len(sent))
	_, err := io.ReadFull(conn, got)
	require.NoError(t, err)
	writer.Wait()
	require.Equal(t, sent, got, "order and content")
	require.Less(t, time.Since(begin), 20*time.Second)
}

func TestEachNodeHasItsOwnLink(t *testing.T) {
	t.Parallel()
	links := start(t, 0, echo(t), "127.0.0.1:1") // nobody listens on the second
	require.Len(t, links.Addrs, 2)
	_, err := dial(t, links.Addrs[0]).Write([]byte{1})
	require.NoError(t, err)
	_, err = dial(t, links.Addrs[1]).Read(make([]byte, 1))
	require.Error(t, err)
}

func TestTheEndOfAStreamIsHandedOn(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	client := dial(t, start(t, time.Millisecond, listener.Addr().String()).Addrs[0])
	node, err := listener.Accept()
	require.NoError(t, err)
	defer func() { _ = node.Close() }()
	require.NoError(t, client.Close())
	_, err = node.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestCloseEndsTheRelay(t *testing.T) {
	t.Parallel()
	links, err := link.Start(t.Context(), []string{echo(t)}, 0)
	require.NoError(t, err)
	require.NoError(t, links.Close())
	_, err = net.Dial("tcp", links.Addrs[0])
	require.Error(t, err)
}
