package node

import (
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func extendArmsAllKeysOrNoneAndShortensNoLife() cases {
	return cases{
		"all are ours": func(s *site) {
			s.set("a", "1", 50*time.Second)
			s.set("b", "1", 30*time.Second)
			s.set("c", "1", 40*time.Second)
			got := s.extend(s.attempt("1", "a", "b", "c"))
			require.NoError(s.t, got.Err)
			require.Equal(s.t, quorum.Confirmed, got.Confirmation)
			require.LessOrEqual(s.t, got.Short, 30*time.Second, "what is read is the shortest life")
			require.Greater(s.t, got.Short, 20*time.Second)
			for _, k := range []string{"a", "b", "c"} {
				s.requireLife(k, time.Minute)
			}
		},
		"one lives longer, and is left so": func(s *site) {
			s.set("a", "1", time.Hour)
			got := s.extend(s.attempt("1", "a"))
			require.Equal(s.t, quorum.Confirmed, got.Confirmation)
			require.Equal(s.t, time.Minute, got.Short, "no more than the TTL is told")
			s.requireLife("a", time.Hour)
		},
		"one has no end, and gets one": func(s *site) {
			s.set("a", "1", 0)
			got := s.extend(s.attempt("1", "a"))
			require.Equal(s.t, quorum.Confirmed, got.Confirmation)
			require.Equal(s.t, time.Minute, got.Short, "a life without an end was not short")
			s.requireLife("a", time.Minute)
		},
	}
}

func extendChangesNothingWhereAKeyIsNotOurs() cases {
	gone := func(s *site, isForeign bool, keys map[string]string) {
		for k, v := range keys {
			if v != "" {
				s.set(k, v, 30*time.Second)
			}
		}
		got := s.extend(s.attempt("1", "a", "b", "c"))
		require.NoError(s.t, got.Err)
		require.Equal(s.t, quorum.Gone, got.Confirmation)
		require.Equal(s.t, isForeign, got.Foreign)
		s.requireKeys(keys)
		for k, v := range keys {
			if v != "" {
				s.requireLife(k, 30*time.Second)
			}
		}
	}
	return cases{
		"one is gone":  func(s *site) { gone(s, false, map[string]string{"a": "1", "b": "", "c": "1"}) },
		"all are gone": func(s *site) { gone(s, false, map[string]string{"a": "", "b": "", "c": ""}) },
		"one is gone and another somebody else's": func(s *site) {
			gone(s, true, map[string]string{"a": "", "b": "1", "c": "2"})
		},
		"all are somebody else's": func(s *site) { gone(s, true, map[string]string{"a": "2", "b": "2", "c": "2"}) },
		"one is of a wrong type": func(s *site) {
			s.set("a", "1", 30*time.Second)
			s.list("b")
			got := s.extend(s.attempt("1", "a", "b"))
			require.ErrorContains(s.t, got.Err, "WRONGTYPE")
			require.Equal(s.t, quorum.Unconfirmed, got.Confirmation)
			s.requireLife("a", 30*time.Second)
			s.requireList("b")
		},
	}
}

func extendRenewsTheCountersAndTouchesNothingThatIsNone() cases {
	extend := func(s *site) {
		a := s.fenced(mad, "1", "a")
		s.set("a", "1", 30*time.Second)
		got := s.extend(a)
		require.NoError(s.t, got.Err)
		require.Equal(s.t, quorum.Confirmed, got.Confirmation)
		s.requireLife("a", time.Minute)
	}
	return cases{
		"a counter": func(s *site) {
			s.set("~f:a", strconv.FormatInt(digits16, 10), time.Minute)
			extend(s)
			require.Equal(s.t, strconv.FormatInt(digits16, 10), s.counter("a"))
			s.requireLife("~f:a", time.Hour)
		},
		"no counter": func(s *site) {
			extend(s)
			s.requireKeys(map[string]string{"~f:a": ""})
		},
		"a list": func(s *site) {
			s.list("~f:a")
			extend(s)
			s.requireList("~f:a")
		},
		"words": func(s *site) {
			s.set("~f:a", "abc", 0)
			extend(s)
			s.requireKeys(map[string]string{"~f:a": "abc"})
			s.requireNoEnd("~f:a")
		},
		"the lock is gone": func(s *site) {
			s.set("~f:a", "7", time.Minute)
			require.Equal(s.t, quorum.Gone, s.extend(s.fenced(mad, "1", "a")).Confirmation)
			s.requireLife("~f:a", time.Minute)
		},
	}
}

func raiseLiftsTheCountersOfWhatIsOurs() cases {
	fence := strconv.FormatInt(digits16, 10)
	return cases{
		"to the fence": func(s *site) {
			a := s.taken(s.fenced(mad, "1", "a", "b"))
			got := s.raise(a, digits16)
			require.NoError(s.t, got.Err)
			require.Equal(s.t, quorum.Confirmed, got.Confirmation)
			require.Equal(s.t, fence, s.counter("a"))
			require.Equal(s.t, fence, s.counter("b"))
			s.requireLife("~f:a", time.Hour)
		},
		"and lowers none": func(s *site) {
			a := s.taken(s.fenced(mad, "1", "a"))
			above := strconv.FormatInt(digits16+1, 10)
			s.set("~f:a", above, 0)
			require.Equal(s.t, quorum.Confirmed, s.raise(a, digits16).Confirmation)
			require.Equal(s.t, above, s.counter("a"))
			s.requireNoEnd("~f:a")
		},
		"where the counter is gone": func(s *site) {
			s.set("a", "1", time.Minute)
			require.Equal(s.t, quorum.Confirmed, s.raise(s.fenced(mad, "1", "a"), digits16).Confirmation)
			require.Equal(s.t, fence, s.counter("a"))
		},
	}
}

func raiseStopsAtWhatIsNotOurs() cases {
	return cases{
		"where a key is gone": func(s *site) {
			s.set("a", "1", time.Minute)
			got := s.raise(s.fenced(mad, "1", "a", "b"), digits16)
			require.Equal(s.t, quorum.Gone, got.Confirmation)
			require.False(s.t, got.Foreign)
			s.requireKeys(map[string]string{"~f:a": "", "~f:b": ""})
		},
		"where a key is somebody else's": func(s *site) {
			s.set("b", "2", time.Minute)
			got := s.raise(s.fenced(mad, "1", "a", "b"), digits16)
			require.Equal(s.t, quorum.Gone, got.Confirmation)
			require.True(s.t, got.Foreign)
			s.requireKeys(map[string]string{"~f:a": "", "~f:b": ""})
		},
		"where a key is of a wrong type": func(s *site) {
			s.list("a")
			got := s.raise(s.fenced(mad, "1", "a"), digits16)
			require.ErrorContains(s.t, got.Err, "WRONGTYPE")
			require.Equal(s.t, quorum.Unconfirmed, got.Confirmation)
			s.requireKeys(map[string]string{"~f:a": ""})
		},
		"where the counter is a list": func(s *site) {
			s.set("a", "1", time.Minute)
			s.list("~f:a")
			got := s.raise(s.fenced(mad, "1", "a"), digits16)
			require.ErrorContains(s.t, got.Err, "WRONGTYPE")
			require.Equal(s.t, quorum.Unconfirmed, got.Confirmation)
			s.requireList("~f:a")
		},
		"where the counter is words": func(s *site) {
			s.set("a", "1", time.Minute)
			s.set("~f:a", "abc", 0)
			got := s.raise(s.fenced(mad, "1", "a"), digits16)
			require.EqualError(s.t, got.Err, "ERR the counter of the fence is not a number")
			require.Equal(s.t, quorum.Unconfirmed, got.Confirmation)
			s.requireKeys(map[string]string{"~f:a": "abc"})
			s.requireNoEnd("~f:a")
		},
		"below a counter of 20 digits": func(s *site) {
			s.set("a", "1", time.Minute)
			s.set("~f:a", "99999999999999999999", 0)
			require.Equal(s.t, quorum.Confirmed, s.raise(s.fenced(mad, "1", "a"), digits16).Confirmation)
			require.Equal(s.t, "99999999999999999999", s.counter("a"))
		},
	}
}
