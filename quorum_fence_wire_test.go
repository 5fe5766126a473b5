package quorum_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"net"
	"os"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/redlock"
)

// The write-back of a fence is seen, and is taken away, where it passes by: on the connection. So the library has no switch
// that turns it off, which somebody might find.

// noScript does nothing and says what the write-back says when it is done.
const noScript = "return 1"

// The scripts whose calls are counted.
const (
	writeBack = "raise"
	repair    = "repair"
)

func hashOf(script string) []byte {
	sum := sha1.Sum([]byte(script))
	return []byte(hex.EncodeToString(sum[:]))
}

// watch is how the connections of a Locker's clients are read along.
type watch struct {
	script  string        // one of the library's, whose calls are counted
	url     string        // at this node; "": at all
	sent    *atomic.Int64 // here
	swallow bool          // and replaced by noScript at every node, which these must know
	around  map[string]string
}

// around has what is dialled at one address go to another, as long as the first one can be dialled: what a proxy carries
// costs more than what it is for, where all that it is for is to be shut at times.
func around(proxies, masters []string) map[string]string {
	all := make(map[string]string, len(proxies))
	for i, proxy := range proxies {
		all[proxy] = masters[i]
	}
	return all
}

// option has the clients that Open makes dial so.
func (w watch) option() redlock.Option {
	return redlock.WithClientOptions(func(o *redis.Options) { o.Dialer = w.dial })
}

func (w watch) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	text, err := os.ReadFile("internal/node/lua/" + w.script + ".lua")
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if to := w.around[addr]; err == nil && to != "" {
		_ = conn.Close()
		conn, err = d.DialContext(ctx, network, to)
	}
	if err != nil {
		return nil, err
	}
	c := &wire{TCPConn: conn.(*net.TCPConn), hash: hashOf(string(text))}
	if w.url == "" || "redis://"+addr == w.url {
		c.sent = w.sent
	}
	if w.swallow {
		c.instead = hashOf(noScript)
	}
	return c, nil
}

// wire is a connection whose client is read along.
type wire struct {
	*net.TCPConn
	hash    []byte
	instead []byte        // nil: as it is
	sent    *atomic.Int64 // nil: not counted
}

func (w *wire) Write(p []byte) (int, error) {
	if w.sent != nil {
		w.sent.Add(int64(bytes.Count(p, w.hash)))
	}
	if w.instead != nil {
		p = bytes.ReplaceAll(p, w.hash, w.instead) // which is as long
	}
	return w.TCPConn.Write(p)
}

// teachNoScript makes all nodes know noScript.
func (tr *trial) teachNoScript() {
	tr.t.Helper()
	for _, look := range tr.looks {
		hash, err := look.ScriptLoad(tr.t.Context(), noScript).Result()
		require.NoError(tr.t, err)
		require.Equal(tr.t, string(hashOf(noScript)), hash)
	}
}
