package sim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/redlock"
)

// openStack makes the client's Locker as users do, with real clients of the nodes: only their connections are in memory.
func (c *client) openStack(names []string, opts []redlock.Option) (*redlock.Locker, error) {
	urls := make([]string, len(names))
	byAddr := make(map[string]*link, len(names))
	for i, name := range names {
		urls[i], byAddr[name] = "redis://"+name, c.links[i]
	}
	dialer := redlock.WithClientOptions(func(o *redis.Options) {
		l := byAddr[o.Addr]
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) }
	})
	return redlock.Open(urls, append(opts, dialer)...)
}

// dial opens a connection, or is refused where the node is not there. It takes no time, nor does the greeting: the client does both
// under a mutex, and a bubble's time stands still while anybody waits for one.
func (l *link) dial(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, down := l.node.down.at(l.client.world.now()); down {
		return nil, errRefused
	}
	near, far := net.Pipe()
	go (&wire{link: l, conn: far}).attend() // ended by either end's close
	return near, nil
}

// wire is the node's end of a connection.
type wire struct {
	link *link
	conn net.Conn
}

// attend answers what comes, as the link's passages say, until the connection is closed or the node goes away.
func (x *wire) attend() {
	w, n := x.link.client.world, x.link.node
	defer func() { _ = x.conn.Close() }()
	if crash, crashes := n.down.begin(w.now(), never); crashes {
		defer time.AfterFunc(crash.from-w.now(), func() { _ = x.conn.Close() }).Stop()
	}
	in := bufio.NewReader(x.conn)
	for {
		batch, err := readBatch(in)
		if err != nil {
			return
		}
		if channel, ok := subscribed(batch); ok {
			x.publish(channel, in)
			return
		}
		if batch[0][0] == "hello" {
			if _, err := x.conn.Write([]byte("-ERR unknown command 'HELLO'\r\n")); err != nil { // as a server of old says
				return
			}
			continue
		}
		if !x.serve(batch) {
			_, _ = io.Copy(io.Discard, x.conn) // until the client gives up: nobody answers it any more
			return
		}
	}
}

// serve runs one batch and answers it, unless it gets lost on its way.
func (x *wire) serve(batch [][]any) bool {
	l := x.link
	w := l.client.world
	l.sharing.Lock()
	p := l.passage(w.now())
	l.sharing.Unlock()
	if p.refused || p.arrives == never || p.arrives >= p.seen {
		if !p.refused && p.arrives != never {
			l.later(p.arrives, batch)
		}
		return false
	}
	w.sleepUntil(p.arrives)
	into := make(chan []answer, 1)
	w.requests <- request{l.node, p.arrives, l.client, batch, into}
	answers := <-into
	w.sleepUntil(p.seen)
	if p.err != nil {
		w.count(&w.verdict.LostReplies)
		return false
	}
	var out []byte
	for _, a := range answers {
		out = appendReply(out, a.val, a.err)
	}
	_, err := x.conn.Write(out)
	return err == nil
}

// publish passes on what is published on a channel, until the client closes the connection.
func (x *wire) publish(channel string, in io.Reader) {
	w, n := x.link.client.world, x.link.node
	say := func(reply ...any) { _, _ = x.conn.Write(appendReply(nil, reply, nil)) } // who does not listen any more misses nothing
	post, gone := make(chan string, 64), make(chan struct{})
	w.mu.Lock()
	unsubscribe := n.store.Subscribe(channel, func(text string) {
		select {
		case post <- text:
		default: // as a server drops who does not read
		}
	})
	w.mu.Unlock()
	defer unsubscribe()
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, in)
	}()
	for say("subscribe", channel, int64(1)); ; {
		select {
		case text := <-post:
			w.sleepUntil(w.now() + time.Millisecond)
			say("message", channel, text)
		case <-gone:
			return
		}
	}
}

func subscribed(batch [][]any) (channel string, ok bool) {
	if batch[0][0] != "subscribe" {
		return "", false
	}
	return batch[0][1].(string), true
}

// readBatch reads commands: one, and those that came with it.
func readBatch(in *bufio.Reader) (batch [][]any, err error) {
	for len(batch) == 0 || in.Buffered() > 0 {
		args, err := readCommand(in)
		if err != nil {
			return nil, err
		}
		batch = append(batch, args)
	}
	return batch, nil
}

var errProtocol = errors.New("no command of a client")

// readCommand reads a command: an array of bulk strings. The number of keys is made a number again, as a lane has it.
func readCommand(in *bufio.Reader) ([]any, error) {
	n, err := readLength(in, '*')
	if err != nil {
		return nil, err
	}
	args := make([]any, n)
	for i := range args {
		length, err := readLength(in, '$')
		if err != nil {
			return nil, err
		}
		text := make([]byte, length+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		args[i] = string(text[:length])
	}
	if n > 2 && (args[0] == "eval" || args[0] == "evalsha") {
		if args[2], err = strconv.Atoi(args[2].(string)); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func readLength(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 4 || line[0] != kind {
		return 0, errProtocol
	}
	return strconv.Atoi(line[1 : len(line)-2])
}

func appendReply(out []byte, val any, err error) []byte {
	switch {
	case errors.Is(err, redis.Nil):
		return append(out, "$-1\r\n"...)
	case err != nil:
		return fmt.Appendf(out, "-%s\r\n", err)
	}
	switch v := val.(type) {
	case int64:
		return fmt.Appendf(out, ":%d\r\n", v)
	case string:
		return fmt.Appendf(out, "$%d\r\n%s\r\n", len(v), v)
	case nil:
		return append(out, "$-1\r\n"...)
	case error:
		return fmt.Appendf(out, "-%s\r\n", v)
	case []any:
		out = fmt.Appendf(out, "*%d\r\n", len(v))
		for _, element := range v {
			out = appendReply(out, element, nil)
		}
		return out
	}
	panic(fmt.Sprintf("no reply of a store: %T", val))
}
