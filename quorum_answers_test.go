package quorum_test

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// answers notes when each node last answered the library: its client's connections tell.
type answers struct {
	mu   sync.Mutex
	last map[int]time.Time
}

// listen lets the clients, one a node, tell when they are answered. To be called before they are given to New.
func listen(clients []*redis.Client) *answers {
	a := &answers{last: make(map[int]time.Time)}
	for i, c := range clients {
		c.AddHook(listener{a, i})
	}
	return a
}

// after waits until every one of the nodes has answered something after t, and returns when the last of them did.
func (a *answers) after(tr *trial, since time.Time, nodes []int) time.Time {
	tr.t.Helper()
	var latest time.Time
	require.True(tr.t, until(5*time.Second, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		latest = since
		for _, i := range nodes {
			at := a.last[i]
			if !at.After(since) {
				return false
			}
			if at.After(latest) {
				latest = at
			}
		}
		return true
	}), "the nodes %v are not asked again", nodes)
	return latest
}

// listener is the hook of one node's client.
type listener struct {
	answers *answers
	node    int
}

func (l listener) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if tcp, ok := c.(*net.TCPConn); ok {
			return heard{tcp, l}, err
		}
		return c, err
	}
}

func (l listener) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (l listener) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// heard is a connection that tells what it hears.
type heard struct {
	*net.TCPConn
	by listener
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.TCPConn.Read(p)
	if n > 0 {
		h.by.answers.mu.Lock()
		defer h.by.answers.mu.Unlock()
		h.by.answers.last[h.by.node] = time.Now()
	}
	return n, err
}
