package node

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// run sends one command through a Transport and returns the answer.
func run(t *testing.T, tr Transport, args []any) (any, error) {
	t.Helper()
	cmds, _ := commandsOf(args)
	_ = tr.Exec(cmds) // an error reply is an answer, and comes back here too
	require.True(t, cmds[0].Answered())
	return cmds[0].Result()
}

func TestTheReleaseScriptDeletesWhatIsOursAndNothingElse(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	tr := NewTransport(clientFor(t, &redis.Options{Addr: m.Addr()}))
	release := releaseScript.args([]any{"k"}, "1")
	_, err := run(t, tr, release)
	require.True(t, redis.HasErrorPrefix(err, "NOSCRIPT"), "%v", err)
	v, err := run(t, tr, bySource(release))
	require.NoError(t, err)
	require.Equal(t, int64(0), v)

	require.NoError(t, m.Set("k", "2"))
	v, err = run(t, tr, release) // its source made it known by its hash
	require.NoError(t, err)
	require.Equal(t, int64(-1), v)
	require.True(t, m.Exists("k"))

	require.NoError(t, m.Set("k", "1"))
	v, err = run(t, tr, release)
	require.NoError(t, err)
	require.Equal(t, int64(1), v)
	require.False(t, m.Exists("k"))

	_, err = m.Lpush("k", "1")
	require.NoError(t, err)
	_, err = run(t, tr, release)
	require.ErrorContains(t, err, "WRONGTYPE")
	require.True(t, m.Exists("k"))
}

func TestASetIsOneCommandWithItsLife(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	tr := NewTransport(clientFor(t, &redis.Options{Addr: m.Addr()}))
	a := &Attempt{Keys: []any{"k"}, Token: "1", TTL: ttl, TTLMillis: ttl.Milliseconds()}
	v, err := run(t, tr, a.setArgs())
	require.NoError(t, err)
	require.Equal(t, "OK", v)
	require.Equal(t, ttl, m.TTL("k"))
	a.Token = "2"
	_, err = run(t, tr, a.setArgs())
	require.Equal(t, redis.Nil, err)
	got, err := m.Get("k")
	require.NoError(t, err)
	require.Equal(t, "1", got)
}

func TestAScriptThatIsNotThereIsFoundOutAtTheStart(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { newScript("release", "no such") })
}
