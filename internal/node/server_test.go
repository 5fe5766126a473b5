package node

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// quiet is the client's log, which says what every test that breaks something makes happen.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	os.Exit(m.Run())
}

// server is a node as the client sees it: commands come in, raw bytes go out.
type server struct {
	// answer is what comes back for a command, in lower case and with its arguments; hangUp ends the connection behind it.
	answer func(cmd string) (raw string, hangUp bool)

	mu   sync.Mutex // protects what follows
	seen []string   // commands of lanes
}

// hangUp stands for the end of the connection among raw replies.
const hangUp = "hang up"

// replying is a server that greets well and answers the lanes' commands in turn with these bytes, the last for all that are
// left.
func replying(raws ...string) *server {
	i := -1
	return &server{answer: func(cmd string) (string, bool) {
		if greeting(cmd) {
			return "-ERR unknown command\r\n", false
		}
		i = min(i+1, len(raws)-1)
		return strings.TrimSuffix(raws[i], hangUp), strings.HasSuffix(raws[i], hangUp)
	}}
}

func greeting(cmd string) bool {
	name, _, _ := strings.Cut(cmd, " ")
	return name == "hello" || name == "client" || name == "auth"
}

func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	go s.serve(there)
	return here, nil
}

func (s *server) serve(c net.Conn) {
	// The client reads only once it has written its whole pipeline, and a pipe holds nothing.
	out := make(chan string, 1024)
	go func() {
		defer func() { _ = c.Close() }()
		for raw := range out {
			if _, err := io.WriteString(c, raw); err != nil {
				return
			}
		}
	}()
	defer close(out)
	for in := bufio.NewReader(c); ; {
		cmd, err := readCommand(in)
		if err != nil {
			return
		}
		s.mu.Lock()
		if !greeting(cmd) {
			s.seen = append(s.seen, cmd)
		}
		raw, end := s.answer(cmd)
		s.mu.Unlock()
		out <- raw
		if end {
			return
		}
	}
}

// readCommand reads one command as clients send them: an array of bulk strings.
func readCommand(in *bufio.Reader) (string, error) {
	number := func() (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(line[1 : len(line)-2])
	}
	count, err := number()
	args := make([]string, 0, count)
	for range count {
		size, err := number()
		if err != nil {
			return "", err
		}
		arg := make([]byte, size+2)
		if _, err := io.ReadFull(in, arg); err != nil {
			return "", err
		}
		args = append(args, strings.ToLower(string(arg[:size])))
	}
	return strings.Join(args, " "), err
}

// commands are the lanes' commands so far.
func (s *server) commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.seen...)
}

// overRedis runs f in a bubble over a client of the server with the client's default options, but for what change does.
func overRedis(t *testing.T, s *server, change func(*redis.Options), f func(*testing.T, *rig, *redis.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &redis.Options{Addr: "127.0.0.1:1", Dialer: s.dial}
		if change != nil {
			change(o)
		}
		client := redis.NewClient(o)
		r := &rig{t: t, clock: clock.Monotonic()}
		f2 := func() {
			for _, n := range r.lanes {
				n.bury(r.clock.Now())
			}
			_ = client.Close() // a test may have closed it
		}
		defer f2()
		r.Group = NewGroup([]Transport{NewTransport(client.WithTimeout(nodeTimeout))}, r.clock, nodeTimeout)
		f(t, r, client)
	})
}

// commandsOf are commands as a lane makes them, and their operations.
func commandsOf(args ...[]any) ([]*Command, []*op) {
	var cmds []*Command
	var ops []*op
	for _, a := range args {
		o := &op{}
		o.reset(a)
		cmds, ops = append(cmds, &o.Command), append(ops, o)
	}
	return cmds, ops
}

func TestTheServerOfTheTestsAnswersCommandsInTurn(t *testing.T) {
	t.Parallel()
	overRedis(t, replying("+OK\r\n", ":1\r\n", "+PONG\r\n"), nil, func(t *testing.T, r *rig, _ *redis.Client) {
		cmds, _ := commandsOf([]any{"set", "k", "1"}, releaseScript.args([]any{"k"}, "1"), []any{"ping"})
		require.NoError(t, r.lanes[0].transport.Exec(cmds))
		require.Equal(t, "OK", cmds[0].Val())
		require.Equal(t, int64(1), cmds[1].Val())
		require.Equal(t, "PONG", cmds[2].Val())
	})
}
