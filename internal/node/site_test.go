package node

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
	"github.com/quorumlock/go-redlock/internal/testcluster"
	_ "github.com/quorumlock/go-redlock/internal/testcluster/containers" // the best masters there are
)

// site is a server that knows Lua, and keys of a test's own there.
type site struct {
	t      *testing.T
	addr   string
	client *redis.Client // what the test looks with
	tr     Transport     // what the scripts go through
	prefix string
}

// sites counts them, since names of tests are no good for keys.
var sites atomic.Int64

func siteAt(t *testing.T, addr string) *site {
	c := clientFor(t, &redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true})
	return (&site{addr: addr, client: c, tr: NewTransport(c)}).forTest(t)
}

// forTest is the same server with keys of its own.
func (s *site) forTest(t *testing.T) *site {
	fresh := *s
	fresh.t, fresh.prefix = t, "s"+time.Duration(sites.Add(1)).String()+":"
	return &fresh
}

// realSite is a real server, where the machine has one.
func realSite(t *testing.T) *site {
	t.Helper()
	c := testcluster.ForTest(t, 1)
	testcluster.Need(t, c, testcluster.Config)
	return siteAt(t, c.Nodes[0].Direct())
}

// cases are what must hold on every server, each on keys of its own.
type cases map[string]func(*site)

// as is the site as another user of the server sees it.
func (s *site) as(user string, rules ...any) *site {
	s.t.Helper()
	do := append([]any{"ACL", "SETUSER", user, "reset", "on", ">secret"}, rules...)
	require.NoError(s.t, s.client.Do(s.t.Context(), do...).Err())
	limited := *s
	limited.tr = NewTransport(clientFor(s.t, &redis.Options{
		Addr: s.addr, Username: user, Password: "secret", Protocol: 2, DisableIdentity: true,
	}))
	return &limited
}

// attempt is one on keys of the site, with counters where it is fenced.
func (s *site) attempt(token string, keys ...string) *Attempt {
	a := &Attempt{Token: token, TTL: time.Minute, TTLMillis: time.Minute.Milliseconds()}
	for _, k := range keys {
		a.Keys = append(a.Keys, s.prefix+k)
	}
	a.claims = []claim{{attempt: a}}
	return a
}

func (s *site) fenced(seed int64, token string, keys ...string) *Attempt {
	a := s.attempt(token, keys...)
	a.Fencing = &Fencing{Seed: seed, Retention: time.Hour.Milliseconds(), Stamps: make([]quorum.Stamp, 1)}
	for _, k := range keys {
		a.Fencing.Counters = append(a.Fencing.Counters, s.prefix+"~f:"+k)
	}
	return a
}

// do sends a command as lanes do, by its source where the server does not know the script, and returns the operation.
func (s *site) do(o *op, args []any) *op {
	s.t.Helper()
	o.reset(args)
	for {
		_ = s.tr.Exec([]*Command{&o.Command}) // an error reply is an answer, and comes back here too
		require.True(s.t, o.Answered(), "%v", o.Err())
		if !o.lacksScript() {
			return o
		}
		o.reset(bySource(o.args))
	}
}

// take is what became of the attempt's SET.
func (s *site) take(a *Attempt) (state, quorum.Vote, error) {
	s.t.Helper()
	o := s.do(&op{kind: kindSet, claim: &a.claims[0]}, a.setArgs())
	state, vote, err := o.setAnswer()
	if a.Fencing != nil && vote == quorum.Granted {
		a.Fencing.Stamps[0], _, _, _ = readStamp(o.Val())
	}
	return state, vote, err
}

// taken is an attempt that was granted, or the test fails.
func (s *site) taken(a *Attempt) *Attempt {
	s.t.Helper()
	_, vote, err := s.take(a)
	require.NoError(s.t, err)
	require.Equal(s.t, quorum.Granted, vote)
	return a
}

func (s *site) repair(a *Attempt, fence int64) (state, error) {
	s.t.Helper()
	state, _, err := s.do(&op{kind: kindRepair, claim: &a.claims[0], ask: &ask{question: askRepair}}, a.repairArgs(fence)).setAnswer()
	return state, err
}

func (s *site) repaired(a *Attempt, fence int64) {
	s.t.Helper()
	state, err := s.repair(a, fence)
	require.NoError(s.t, err)
	require.Equal(s.t, stateGranted, state)
}

func (s *site) ask(a *Attempt, q question, args []any) Reply {
	s.t.Helper()
	o := s.do(&op{kind: kindAsk, claim: &a.claims[0], ask: &ask{question: q}}, args)
	o.ask.reply.Confirmation = quorum.Unconfirmed
	o.ask.reply.Err = o.readAnswer()
	return o.ask.reply
}

func (s *site) extend(a *Attempt) Reply { return s.ask(a, askExtend, a.extendArgs(0)) }

func (s *site) raise(a *Attempt, fence int64) Reply { return s.ask(a, askRaise, a.raiseArgs(fence)) }

func (s *site) inspect(key string) Reply {
	keys := []any{s.prefix + key, s.prefix + "~f:" + key, s.prefix + "~q:" + key}
	return s.ask(s.attempt("", key), askInspect, inspectScript.args(keys[:1], keys[1:]...))
}

// giveUp is what the attempt's ending came to.
func (s *site) giveUp(a *Attempt) (quorum.Answer, error) {
	s.t.Helper()
	return s.do(&op{kind: kindRelease, claim: &a.claims[0]}, a.giveUpArgs(0)).releaseAnswer(false)
}

func (s *site) set(key, value string, life time.Duration) {
	s.t.Helper()
	require.NoError(s.t, s.client.Set(s.t.Context(), s.prefix+key, value, life).Err())
}

// list puts a value of a type that no lock has under the key.
func (s *site) list(key string) {
	s.t.Helper()
	require.NoError(s.t, s.client.RPush(s.t.Context(), s.prefix+key, "x", "y").Err())
}

// requireList requires that the list is as it was, and without an end.
func (s *site) requireList(key string) {
	s.t.Helper()
	got, err := s.client.LRange(s.t.Context(), s.prefix+key, 0, -1).Result()
	require.NoError(s.t, err)
	require.Equal(s.t, []string{"x", "y"}, got)
	s.requireNoEnd(key)
}

// requireKeys requires these values, "" where there is to be none.
func (s *site) requireKeys(want map[string]string) {
	s.t.Helper()
	for key, value := range want {
		got, err := s.client.Get(s.t.Context(), s.prefix+key).Result()
		if err != redis.Nil { //nolint:errorlint // the bare nil reply is how the client says that there is nothing
			require.NoError(s.t, err)
		}
		require.Equal(s.t, value, got, key)
	}
}

// requireLife requires that the key lives for so long, but for what the test has taken meanwhile.
func (s *site) requireLife(key string, want time.Duration) {
	s.t.Helper()
	left, err := s.client.PTTL(s.t.Context(), s.prefix+key).Result()
	require.NoError(s.t, err)
	require.LessOrEqual(s.t, left, want, key)
	require.Greater(s.t, left, want-10*time.Second, key)
}

func (s *site) requireNoEnd(key string) {
	s.t.Helper()
	left, err := s.client.PTTL(s.t.Context(), s.prefix+key).Result()
	require.NoError(s.t, err)
	require.EqualValues(s.t, -1, left, key)
}

// micros is the server's own clock.
func (s *site) micros() int64 {
	s.t.Helper()
	now, err := s.client.Time(s.t.Context()).Result()
	require.NoError(s.t, err)
	return now.UnixMicro()
}

// counter reads what a counter says, digit by digit.
func (s *site) counter(key string) string {
	s.t.Helper()
	got, err := s.client.Get(s.t.Context(), s.prefix+"~f:"+key).Result()
	require.NoError(s.t, err)
	require.False(s.t, strings.ContainsAny(got, "e.+"), got)
	return got
}
