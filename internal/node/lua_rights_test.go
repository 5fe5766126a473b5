package node

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// ownCommands are the commands of a lock, and all that a user of it needs to be allowed.
var ownCommands = []any{"-@all", "+set", "+get", "+del", "+pexpire", "+pttl", "+eval", "+evalsha"}

// limited is the site as seen by a user who may touch nothing but these keys of it, with a lock's own commands and these.
func (s *site) limited(keys []string, more ...any) *site {
	rules := append([]any{}, ownCommands...)
	for _, k := range keys {
		rules = append(rules, "~"+s.prefix+k)
	}
	return s.as("u"+s.prefix, append(rules, more...)...)
}

// requireHeldAndGivenBack extends the attempt, leaves it, and releases it all the same.
func (s *site) requireHeldAndGivenBack(a *Attempt) {
	s.t.Helper()
	for _, key := range a.Keys {
		require.NoError(s.t, s.client.PExpire(s.t.Context(), key.(string), 30*time.Second).Err())
	}
	got := s.extend(a)
	require.NoError(s.t, got.Err)
	require.Equal(s.t, quorum.Confirmed, got.Confirmation)
	s.requireLife("a", time.Minute)
	a.End, a.Until = Leave, 20*time.Second
	answer, err := s.giveUp(a)
	require.NoError(s.t, err)
	require.Equal(s.t, quorum.Deleted, answer)
	s.requireLife("a", 20*time.Second)
	a.End = Delete
	answer, err = s.giveUp(a)
	require.NoError(s.t, err)
	require.Equal(s.t, quorum.Deleted, answer)
	s.requireKeys(map[string]string{"a": ""})
}

func TestAFullServerStillExtendsLeavesAndReleases(t *testing.T) {
	t.Parallel()
	full := realSite(t)
	for name, known := range map[string]bool{"that knows the scripts": true, "that must be told their source": false} {
		// Not parallel: the memory is that of the whole server.
		t.Run(name, func(t *testing.T) {
			s := full.forTest(t)
			limit := func(bytes string) { require.NoError(t, s.client.ConfigSet(t.Context(), "maxmemory", bytes).Err()) }
			a := s.taken(s.fenced(mad, "1", "a", "b"))
			if known {
				s.extend(a)
				_, _ = s.giveUp(s.attempt("nobody", "other"))
			} else {
				require.NoError(t, s.client.ScriptFlush(t.Context()).Err())
			}
			limit("1")
			defer limit("0")
			require.ErrorContains(t, s.client.Set(t.Context(), s.prefix+"x", "1", 0).Err(), "OOM")
			state, vote, err := s.take(s.attempt("2", "c", "d"))
			require.ErrorContains(t, err, "OOM")
			require.Equal(t, stateErrored, state)
			require.Equal(t, quorum.Unknown, vote)
			s.requireKeys(map[string]string{"c": "", "d": ""})
			require.Equal(t, quorum.Confirmed, s.inspect("a").Confirmation)
			s.requireHeldAndGivenBack(a)
			s.requireKeys(map[string]string{"b": "", "~f:b": "1"})
			state, err = s.repair(a, 7)
			require.ErrorContains(t, err, "OOM")
			require.Equal(t, stateErrored, state)
			s.requireKeys(map[string]string{"a": "", "b": "", "~f:b": "1"})
		})
	}
}

func TestWithItsOwnCommandsAndKeysAloneALockLivesAndEnds(t *testing.T) {
	t.Parallel()
	s := realSite(t)
	u := s.limited([]string{"a", "b"})
	for _, command := range [][]any{{"set", s.prefix + "c", "1"}, {"time"}, {"exists", s.prefix + "a"}} {
		_, err := run(t, u.tr, command)
		require.True(t, redis.HasErrorPrefix(err, "NOPERM"), "%v: %v", command, err)
	}
	one := u.taken(u.attempt("1", "a"))
	u.requireHeldAndGivenBack(one)
	several := u.taken(u.attempt("1", "a", "b"))
	require.Equal(t, quorum.Confirmed, u.inspect("a").Confirmation)
	require.Equal(t, "1", u.inspect("a").Holding.Token)
	require.NoError(t, s.client.Del(t.Context(), s.prefix+"b").Err())
	u.repaired(several, 0)
	heir := u.attempt("2", "a", "b")
	heir.From = "1"
	u.taken(heir)
	heir.End = Restore
	answer, err := u.giveUp(heir)
	require.NoError(t, err)
	require.Equal(t, quorum.Deleted, answer)
	u.requireHeldAndGivenBack(several)
}

func TestWithoutRightsForTheCountersOnlyTheFenceIsMissing(t *testing.T) {
	t.Parallel()
	server := realSite(t)
	fence := strconv.FormatInt(digits16, 10)
	for name, rights := range map[string]struct {
		keys []string
		more []any
		says string
	}{
		"no counter may be touched": {[]string{"a"}, []any{"+time"}, "permission"},
		"no counter may be written": {[]string{"a"}, []any{"+time", "%R~*"}, "permission"},
		"the time may not be asked": {[]string{"a", "~f:a"}, nil, "can't run this command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server.forTest(t)
			u := s.limited(rights.keys, rights.more...)
			s.set("~f:a", fence, 0)

			// The vote is missing, and why is to be seen.
			a := u.fenced(mad, "1", "a")
			_, vote, err := u.take(a)
			require.Equal(t, quorum.Unknown, vote)
			require.ErrorContains(t, err, rights.says)
			require.Equal(t, fence, s.counter("a"))
			_, err = u.giveUp(a)
			require.NoError(t, err)
			s.requireKeys(map[string]string{"a": ""})

			// What is held already, or comes back by a repair, is not in danger.
			u.repaired(a, digits16-1)
			require.Equal(t, "1", u.inspect("a").Holding.Token)
			require.Equal(t, fence, s.counter("a"))
			u.requireHeldAndGivenBack(a)
		})
	}
}
