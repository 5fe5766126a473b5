package store

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Date(2030, time.January, 1, 0, 0, 0, 123_456_789, time.UTC)

// session runs commands at a time that moves when it is told to.
type session struct {
	*Store
	t   *testing.T
	now time.Time
}

func open(t *testing.T) *session {
	t.Helper()
	return &session{Store: New(), t: t, now: start}
}

// do returns the reply to a command, which must not be an error.
func (s *session) do(args ...any) any {
	s.t.Helper()
	v, err := s.Do(s.now, args)
	require.NoError(s.t, err, "%v", args)
	return v
}

// refused returns the error that a command gets.
func (s *session) refused(args ...any) string {
	s.t.Helper()
	v, err := s.Do(s.now, args)
	require.Nil(s.t, v, "%v", args)
	fault, ok := errors.AsType[Error](err)
	require.True(s.t, ok, "%v: %v", args, err)
	return fault.Error()
}

func TestAKeyEndsWhenItsLifeIsOverAndNotBefore(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.Equal(t, "OK", s.do("SET", "k", "v", "PX", 1500))
	require.Equal(t, start.Add(1500*time.Millisecond), s.End("k"))
	require.Equal(t, int64(1500), s.do("PTTL", "k"))
	s.now = start.Add(1500*time.Millisecond - 1)
	require.Equal(t, "v", s.do("GET", "k"))
	require.Equal(t, int64(0), s.do("PTTL", "k"), "cut to whole milliseconds")
	require.Equal(t, map[string]string{"k": "v"}, s.Values(s.now))
	s.now = start.Add(1500 * time.Millisecond)
	require.Empty(t, s.Values(s.now))
	require.Nil(t, s.do("GET", "k"))
	require.Equal(t, int64(-2), s.do("PTTL", "k"))
	require.Equal(t, int64(0), s.do("EXISTS", "k", "k"))
	require.Zero(t, s.End("k"), "it is forgotten")
}

func TestSetDoesAsItsOptionsSay(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.Nil(t, s.do("set", "k", "1", "XX"))
	require.Equal(t, "OK", s.do("set", "k", []byte("1"), "nx", "px", int64(1000)))
	require.Nil(t, s.do("SET", "k", "2", "NX"))
	require.Equal(t, "OK", s.do("SET", "k", "2", "XX", "KEEPTTL"))
	require.Equal(t, "2", s.do("GET", "k"))
	require.Equal(t, int64(1000), s.do("PTTL", "k"))
	require.Equal(t, "OK", s.do("SET", "k", "3", "EX", "2"))
	require.Equal(t, int64(2000), s.do("PTTL", "k"))
	require.Equal(t, "OK", s.do("SET", "k", "4"))
	require.Equal(t, int64(-1), s.do("PTTL", "k"), "without an option the end is gone")
	require.Zero(t, s.End("k"))
	for _, bad := range [][]any{
		{"NX", "XX"}, {"XX", "NX"}, {"PX"}, {"PX", 1, "EX", 1}, {"PX", 1, "KEEPTTL"}, {"KEEPTTL", "PX", 1}, {"GT"},
	} {
		require.Equal(t, "ERR syntax error", s.refused(append([]any{"SET", "k", "5"}, bad...)...), "%v", bad)
	}
	for _, life := range []any{0, -1, int64(math.MaxInt64)} {
		require.Equal(t, "ERR invalid expire time in 'set' command", s.refused("SET", "k", "5", "PX", life))
	}
	require.Contains(t, s.refused("SET", "k", "5", "PX", "1.5"), "not an integer")
	require.Equal(t, "4", s.do("GET", "k"), "what was refused changed nothing")
}

func TestPexpireSetsALifeOrEndsIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.Equal(t, int64(0), s.do("PEXPIRE", "k", 1000))
	s.do("SET", "k", "v")
	require.Equal(t, int64(1), s.do("PEXPIRE", "k", 1000))
	require.Equal(t, int64(1000), s.do("PTTL", "k"))
	require.Contains(t, s.refused("PEXPIRE", "k", "soon"), "not an integer")
	require.Contains(t, s.refused("PEXPIRE", "k", int64(math.MaxInt64)), "invalid expire time in 'pexpire'")
	require.Equal(t, int64(1), s.do("PEXPIRE", "k", -1))
	require.Nil(t, s.do("GET", "k"))
	s.do("SET", "a", "1")
	s.do("SET", "b", "1")
	require.Equal(t, int64(2), s.do("DEL", "a", "b", "c", "a"))
}

func TestTheNodesClockMayBeAheadAndMayStep(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.Equal(t, []any{"1893456000", "123456"}, s.do("TIME"))
	s.SetOffset(time.Hour)
	require.Equal(t, []any{"1893459600", "123456"}, s.do("TIME"))
	s.do("SET", "k", "v", "PX", 10_000)
	require.Equal(t, int64(10_000), s.do("PTTL", "k"), "being ahead changes no life")
	require.Equal(t, start.Add(10*time.Second), s.End("k"))
	s.SetOffset(time.Hour + 4*time.Second)
	require.Equal(t, int64(6000), s.do("PTTL", "k"), "a step ahead shortens it")
	s.SetOffset(0)
	require.Equal(t, int64(3_610_000), s.do("PTTL", "k"), "a step back lengthens it")
	s.SetOffset(2 * time.Hour)
	require.Nil(t, s.do("GET", "k"))
}

func TestARestartForgets(t *testing.T) {
	t.Parallel()
	s := open(t)
	const script, hash = "return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
	require.Contains(t, s.refused("EVALSHA", hash, 0), "NOSCRIPT")
	require.Equal(t, int64(1), s.do("EVAL", script, 0))
	require.Equal(t, int64(1), s.do("EVALSHA", strings.ToUpper(hash), 0))
	s.do("SET", "k", "v")
	s.SetOffset(time.Hour)
	twin := s.Clone()
	s.ForgetScripts()
	require.Contains(t, s.refused("EVALSHA", hash, 0), "NOSCRIPT")
	require.Equal(t, "v", s.do("GET", "k"))
	s.do("EVAL", script, 0)
	s.Forget()
	require.Contains(t, s.refused("EVALSHA", hash, 0), "NOSCRIPT")
	require.Nil(t, s.do("GET", "k"))
	require.Equal(t, "1893459600", s.do("TIME").([]any)[0], "the clock goes on")

	loaded, err := s.Load(script)
	require.NoError(t, err)
	require.Equal(t, hash, loaded)
	require.Equal(t, int64(1), s.do("EVALSHA", hash, 0))
	_, err = s.Load("return (")
	require.ErrorContains(t, err, "Error compiling script")

	s.Store = twin
	require.Equal(t, int64(1), s.do("EVALSHA", hash, 0))
	require.Equal(t, "v", s.do("GET", "k"))
	require.Equal(t, "1893459600", s.do("TIME").([]any)[0])
}

func TestWhatIsNoStringIsOfTheWrongTypeAndStays(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.do("RPUSH", "k", "v")
	require.Contains(t, s.refused("GET", "k"), "WRONGTYPE")
	require.Nil(t, s.do("SET", "k", "v", "NX"))
	require.Equal(t, int64(1), s.do("EXISTS", "k"))
	require.Empty(t, s.Values(s.now))
	require.Equal(t, "OK", s.do("SET", "k", "v"), "a SET without NX replaces any type")
	require.Equal(t, "v", s.do("GET", "k"))
}

func TestAnythingElseIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.Equal(t, "PONG", s.do("PING"))
	require.Equal(t, "ERR unknown command 'GETDEL', with args beginning with: ", s.refused("GETDEL", "k"))
	require.Contains(t, s.refused(), "unknown command")
	for _, args := range [][]any{{"GET"}, {"GET", "a", "b"}, {"SET", "a"}, {"DEL"}, {"TIME", 1}, {"EVAL", "return 1"}, {"EVALSHA", "x"}} {
		require.Contains(t, s.refused(args...), "wrong number of arguments", "%v", args)
	}
	for _, command := range []string{"EVAL", "EVALSHA"} {
		require.Contains(t, s.refused(command, "return 1", 1), "greater than number of args")
		require.Contains(t, s.refused(command, "return 1", -1), "negative")
		require.Contains(t, s.refused(command, "return 1", "one"), "not an integer")
	}
	require.Panics(t, func() { _, _ = s.Do(s.now, []any{"SET", "k", 1.5}) })
}
