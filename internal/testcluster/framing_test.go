package testcluster

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRepliesOfEveryTypeAreFoundWhole(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"+OK\r\n", "-ERR no\r\n", ":-1\r\n", "$-1\r\n", "$0\r\n\r\n", "$4\r\na\r\nb\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n", "!5\r\nERR x\r\n", "=7\r\ntxt:abc\r\n",
		"~1\r\n+a\r\n", ">2\r\n+message\r\n$1\r\na\r\n", "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "%0\r\n",
		"|1\r\n+ttl\r\n:3\r\n$1\r\na\r\n", "*1\r\n|1\r\n+k\r\n+v\r\n:1\r\n",
	} {
		for cut := range len(reply) {
			n, err := scanReply([]byte(reply[:cut]))
			require.NoError(t, err, "%q", reply[:cut])
			require.Zero(t, n, "%q is taken for whole", reply[:cut])
		}
		n, err := scanReply([]byte(reply + "+next\r\n"))
		require.NoError(t, err, "%q", reply)
		require.Equal(t, len(reply), n, "%q", reply)
	}
}

func TestWhatIsNoReplyIsSaidToBeNone(t *testing.T) {
	t.Parallel()
	for _, noise := range []string{
		"x\r\n", "\r\n", "$x\r\n", "$-2\r\n", "$9223372036854775800\r\n", "$99999999999999999999\r\n", "*99999999999\r\n",
		"*1\r\nx\r\n",
	} {
		_, err := scanReply([]byte(noise))
		require.ErrorIs(t, err, errFraming, "%q", noise)
	}
}

func TestCommandsAreFoundWholeWithTheirNames(t *testing.T) {
	t.Parallel()
	for command, name := range map[string]string{
		"*1\r\n$4\r\nping\r\n":              "PING",
		"*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n": "GET",
		"get a\r\n":                         "GET",
		"\r\n":                              "",
		"*0\r\n":                            "",
	} {
		for cut := range len(command) {
			n, _, err := scanCommand([]byte(command[:cut]))
			require.NoError(t, err, "%q", command[:cut])
			require.Zero(t, n, "%q is taken for whole", command[:cut])
		}
		n, got, err := scanCommand([]byte(command + "*1"))
		require.NoError(t, err, "%q", command)
		require.Equal(t, len(command), n, "%q", command)
		require.Equal(t, name, got)
	}
	for _, noise := range []string{"*x\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*1\r\n$600000000\r\n"} {
		_, _, err := scanCommand([]byte(noise))
		require.ErrorIs(t, err, errFraming, "%q", noise)
	}
}

// FuzzScan holds that the scanners read nothing but what they are given, and never change their mind when more comes.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{"*1\r\n$1\r\na\r\n", "$-1\r\n", "%1\r\n+a\r\n:1\r\n", "|1\r\n+a\r\n:1\r\n:2\r\n", "get a\r\n"} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		command := func(b []byte) (int, error) {
			n, _, err := scanCommand(b)
			return n, err
		}
		for _, scan := range []func([]byte) (int, error){scanReply, command} {
			whole, err := scan(data)
			require.LessOrEqual(t, whole, len(data))
			if err != nil || cut < 0 || cut > len(data) {
				continue
			}
			part, err := scan(data[:cut])
			require.NoError(t, err)
			if part != 0 {
				require.Equal(t, whole, part)
			}
			if whole != 0 && cut >= whole {
				require.Equal(t, whole, part)
			}
		}
	})
}

func TestNoPortIsGivenOutTwiceAndAReturnedOneWaits(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 2 * blockSize { // more than one block has
		addr, err := takePort()
		require.NoError(t, err)
		require.False(t, seen[addr], "%s was given out twice", addr)
		require.True(t, strings.HasPrefix(addr, "127.0.0.1:"))
		seen[addr] = true
	}
	first, err := takePort()
	require.NoError(t, err)
	givePort(first)
	givePort(first) // counts once
	next, err := takePort()
	require.NoError(t, err)
	require.NotEqual(t, first, next, "a port is used again before all others")
	taken := []string{next}
	for range 2 * blockSize {
		addr, err := takePort()
		require.NoError(t, err)
		require.NotContains(t, taken, addr)
		taken = append(taken, addr)
	}
	for addr := range seen {
		givePort(addr)
	}
	for _, addr := range taken {
		givePort(addr)
	}
}

// TestMessagesThatAnswerNothingPassWithoutUsingUpAFault stands in for a server that sends what the others never do.
func TestMessagesThatAnswerNothingPassWithoutUsingUpAFault(t *testing.T) {
	t.Parallel()
	master, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = master.Close() }()
	addr, err := takePort()
	require.NoError(t, err)
	defer givePort(addr)
	p, err := newProxy(addr, master.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	p.AnswerNext([]byte("+instead\r\n"))

	client, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	require.NoError(t, client.SetDeadline(time.Now().Add(startLimit)))
	server, err := master.Accept()
	require.NoError(t, err)
	defer func() { _ = server.Close() }()
	require.NoError(t, server.SetDeadline(time.Now().Add(startLimit)))
	const unasked, push, noise = "-ERR max number of clients reached\r\n", ">2\r\n+invalidate\r\n_\r\n", "noise"
	in := bufio.NewReader(client)
	expect := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		_, err := io.ReadFull(in, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err = server.Write([]byte(unasked))
	require.NoError(t, err)
	expect(unasked)
	_, err = client.Write([]byte("GET a\r\n"))
	require.NoError(t, err)
	_, err = bufio.NewReader(server).ReadString('\n')
	require.NoError(t, err)
	_, err = server.Write([]byte(push + "+real\r\n" + noise))
	require.NoError(t, err)
	expect(push + "+instead\r\n" + noise)
}
