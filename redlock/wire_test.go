package redlock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// wire speaks RESP in front of a master, and may answer in its place: with bytes of any kind, or (with nil) by hanging up
// once the command was applied.
type wire struct {
	*master
	bend func(name string) (raw []byte, ok bool)
}

func (w *wire) serveConn(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for {
		args, err := readCommand(in)
		if err != nil {
			return
		}
		raw := w.reply(args)
		if raw == nil {
			return
		}
		if _, err := conn.Write(raw); err != nil {
			return
		}
	}
}

func (w *wire) reply(args []any) []byte {
	name := args[0].(string)
	w.mu.Lock()
	bend := w.bend
	w.mu.Unlock()
	var val any = "OK"
	var err error
	switch name {
	case "set", "evalsha", "eval", "ping":
		val, err = w.receive(parse(args))
	case "auth":
	default:
		err = reply("ERR unknown command '" + name + "'")
	}
	if bend != nil {
		if raw, ok := bend(name); ok {
			return raw
		}
	}
	return []byte(encode(val, err))
}

// encode is a reply as a server writes it.
func encode(val any, err error) string {
	switch {
	case errors.Is(err, redis.Nil):
		return "$-1\r\n"
	case err != nil:
		return "-" + err.Error() + "\r\n"
	}
	switch v := val.(type) {
	case int64:
		return ":" + strconv.FormatInt(v, 10) + "\r\n"
	case []any:
		all := "*" + strconv.Itoa(len(v)) + "\r\n"
		for _, element := range v {
			all += encode(element, nil)
		}
		return all
	case string:
		return "+" + v + "\r\n"
	}
	return "$-1\r\n"
}

func (w *wire) receive(r request) (any, error) {
	w.mu.Lock()
	w.log = append(w.log, r)
	i := len(w.log) - 1
	w.mu.Unlock()
	return w.serve(i, way{})
}

// readCommand reads a command as the client's arguments were.
func readCommand(in *bufio.Reader) ([]any, error) {
	var n int
	if _, err := fmt.Fscanf(in, "*%d\r\n", &n); err != nil {
		return nil, err
	}
	args := make([]any, n)
	for i := range args {
		var size int
		if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		args[i] = string(text[:size])
	}
	args[0] = strings.ToLower(args[0].(string))
	switch {
	case args[0] == "set" && n == 6:
		ms, err := strconv.ParseInt(args[5].(string), 10, 64)
		args[5] = ms
		return args, err
	case strings.HasPrefix(args[0].(string), "eval") && n > 3:
		keys, err := strconv.Atoi(args[2].(string))
		args[2] = keys
		return args, err
	}
	return args, nil
}

// wired is a Locker of Open over n wires in a bubble.
func wired(t *testing.T, n int, opts ...Option) (*Locker, []*wire) {
	t.Helper()
	wires, addresses := make([]*wire, n), make([]string, n)
	for i := range wires {
		wires[i] = &wire{master: newMaster(nodeTimeout)}
		addresses[i] = fmt.Sprintf("redis://10.0.0.%d:6379", i+1)
	}
	dial := WithClientOptions(func(o *redis.Options) {
		o.Protocol = 2
		o.Dialer = func(_ context.Context, _, addr string) (net.Conn, error) {
			var i int
			if _, err := fmt.Sscanf(addr, "10.0.0.%d:6379", &i); err != nil {
				return nil, err
			}
			ours, theirs := net.Pipe()
			go wires[i-1].serveConn(theirs) // ends with its connection
			return ours, nil
		}
	})
	l, err := Open(addresses, append([]Option{dial, WithClock(clock.Monotonic())}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = l.Close(ended)
		for l.Close(context.Background()) != nil { // a round trip is under way
		}
	})
	return l, wires
}

func (w *wire) setBend(f func(name string) ([]byte, bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bend = f
}

// bendTo answers commands of one name with the bytes, or all with the name "".
func bendTo(name, raw string) func(string) ([]byte, bool) {
	return func(got string) ([]byte, bool) { return []byte(raw), name == "" || got == name }
}

func hangUpOn(name string) func(string) ([]byte, bool) {
	return func(got string) ([]byte, bool) { return nil, got == name }
}
