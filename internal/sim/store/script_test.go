package store

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// converted are what scripts return, and what their client gets: here, and of a server.
var converted = []struct {
	script string
	reply  any
	lean   bool // miniredis does it otherwise
}{
	{script: "return 3.99", reply: int64(3)},
	{script: "return -3.99", reply: int64(-3)},
	{script: "return 9007199254740991", reply: int64(9007199254740991)},
	{script: "return '3.99'", reply: "3.99"},
	{script: "return nil"},
	{script: "return"},
	{script: "return false"},
	{script: "return true", reply: int64(1)},
	{script: "return {1, 2.7, 'x', {3, false, true}, nil, 4}", reply: []any{int64(1), int64(2), "x", []any{int64(3), nil, int64(1)}}},
	{script: "return {}", reply: []any{}},
	{script: "return {ok = 'fine'}", reply: "fine"},
	{script: "return redis.status_reply('fine')", reply: "fine"},
	{script: "return redis.call('GET', KEYS[1])"},
	{script: "return tostring(redis.call('GET', KEYS[1]))", reply: "false"},
	{script: "return redis.call('SET', KEYS[1], 'v').ok", reply: "OK"},
	{script: "return redis.call('SET', KEYS[1], 'v')", reply: "OK"},
	{script: "return redis.call('SET', KEYS[1], 'v', 'XX')"},
	{script: "return redis.call('ping')", reply: "PONG"},
	{script: "return #redis.call('TIME')", reply: int64(2)},
	{script: "return type(redis.call('TIME')[1])", reply: "string"},
	{script: "return type(redis.call('DEL', KEYS[1]))", reply: "number"},
	{script: "return redis.pcall('GET').err ~= nil", reply: int64(1)},
	{script: "redis.call('SET', KEYS[1], 1764493863123500); return redis.call('GET', KEYS[1])", reply: "1764493863123500"},
	{script: "redis.call('SET', KEYS[1], 100); return redis.call('GET', KEYS[1])", reply: "100"},
	{script: "redis.call('SET', KEYS[1], 0.5); return redis.call('GET', KEYS[1])", reply: "0.5"},
	{script: "return string.format('%.0f', 1764493863123500)", reply: "1764493863123500"},
	{script: "return tostring(1764493863123500)", reply: "1.7644938631235e+15", lean: true},
	{script: "return tostring(10000)", reply: "10000"},
	{script: "return tostring(0.25)", reply: "0.25"},
	{script: "return tostring(KEYS)", reply: nil, lean: true},
	{script: "return {KEYS[1], ARGV[1], ARGV[2], #KEYS, #ARGV}", reply: []any{"k", "a", "", int64(1), int64(2)}},
	{script: "return ARGV[3]"},
	{script: "return ARGV[1] == 'a' and math.max(2, 3)", reply: int64(3)},
}

func TestRepliesOfScriptsAreConvertedAsByAServer(t *testing.T) {
	t.Parallel()
	for _, tt := range converted {
		got := open(t).do("EVAL", tt.script, 1, "k", "a", "")
		if tt.reply == nil && tt.lean {
			require.Contains(t, got, "table: ", tt.script)
			continue
		}
		require.Equal(t, tt.reply, got, tt.script)
	}
}

// failing are scripts that fail, and how the error begins.
var failing = []struct {
	script, begins string
	lean           bool // miniredis says something else
}{
	{script: "return {err = 'MY fault'}", begins: "MY fault"},
	{script: "return redis.error_reply('MY fault')", begins: "MY fault"},
	{script: "return redis.error_reply('-MY fault')", begins: "MY fault"},
	{script: "return redis.pcall('GET', KEYS[2])", begins: "WRONGTYPE Operation against"},
	{script: "return redis.call('GET', KEYS[2])", begins: "WRONGTYPE Operation against", lean: true},
	{script: "return redis.call('NOPE')", begins: "ERR ", lean: true},
	{script: "return redis.pcall('NOPE')", begins: "ERR Unknown Redis command"},
	{script: "return redis.pcall('GET')", begins: "ERR Wrong number of args", lean: true},
	{script: "return redis.call()", begins: "ERR ", lean: true},
	{script: "return redis.pcall('GET', {})", begins: "ERR ", lean: true},
	{script: "return redis.pcall('EVAL', 'return 1', 0)", begins: "ERR This Redis command is not allowed", lean: true},
	{script: "x = 1", begins: "ERR "},
	{script: "return x", begins: "ERR "},
	{script: "return nil + 1", begins: "ERR "},
	{script: "error('on purpose')", begins: "ERR "},
	{script: "error({err = 'MY fault'})", begins: "MY fault", lean: true},
	{script: "return (", begins: "ERR Error compiling script"},
	{script: "return dofile('x')", begins: "ERR "},
}

func TestScriptsThatFailReplyWithTheirError(t *testing.T) {
	t.Parallel()
	for _, tt := range failing {
		s := open(t)
		s.do("RPUSH", "list", "v")
		require.Regexp(t, "^"+tt.begins, s.refused("EVAL", tt.script, 2, "k", "list"), tt.script)
	}
}

func TestWhatAScriptDidBeforeItFailedStays(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.refused("EVAL", "redis.call('SET', KEYS[1], 'v'); error('on purpose')", 1, "k")
	require.Equal(t, "v", s.do("GET", "k"))
	require.Equal(t, int64(1), s.do("EVAL", "return 1", 0), "and the next one runs")
}

func TestAnErrorInsideAListIsAnElement(t *testing.T) {
	t.Parallel()
	got := open(t).do("EVAL", "return {1, {err = 'MY fault'}, 2}", 0)
	require.Equal(t, []any{int64(1), Error("MY fault"), int64(2)}, got)
}

// A server writes 14 digits there, the interpreter all: a script must not seem to work here and fail there.
func TestAScriptThatConcatenatesIsRefused(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"return 1 .. 'x'", "local function f(x) return x .. x end return f('a')"} {
		require.Contains(t, open(t).refused("EVAL", script, 0), "does not concatenate")
	}
}

func TestAScriptRunsAtTheTimeOfItsCommandForItsOwnStore(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			s := New()
			key := fmt.Sprint("k", i)
			for range 200 {
				_, err := s.Do(start, []any{"EVAL", "return redis.call('SET', KEYS[1], ARGV[1], 'PX', 1000)", 1, key, i})
				if err != nil {
					t.Error(err)
				}
				if got := s.Values(start); len(got) != 1 || got[key] != fmt.Sprint(i) {
					t.Errorf("store %d has %v", i, got)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkScript(b *testing.B) {
	s := New()
	args := []any{"EVAL", "if redis.call('GET', KEYS[1]) then return 0 end return 1", 1, "k"}
	for b.Loop() {
		if _, err := s.Do(start, args); err != nil {
			b.Fatal(err)
		}
	}
}
