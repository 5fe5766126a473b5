package node

import (
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// digits16 is a fence as a clock of the year 2100 gives it: a number that Lua prints with an exponent.
const digits16 = int64(4_102_444_800_123_457)

// mad is a seed that no server's clock is near to, so that the counter goes up by one.
const mad = int64(1)

func acquireTakesAllKeysOrNone() cases {
	return cases{
		"all are free": func(s *site) {
			s.taken(s.attempt("1", "a", "b", "c"))
			for _, k := range []string{"a", "b", "c"} {
				s.requireKeys(map[string]string{k: "1"})
				s.requireLife(k, time.Minute)
			}
		},
		"one is somebody else's": func(s *site) {
			s.set("b", "2", time.Hour)
			state, vote, err := s.take(s.attempt("1", "a", "b", "c"))
			require.NoError(s.t, err)
			require.Equal(s.t, stateRefused, state)
			require.Equal(s.t, quorum.Refused, vote)
			s.requireKeys(map[string]string{"a": "", "b": "2", "c": ""})
			s.requireLife("b", time.Hour)
		},
		"one has our own token": func(s *site) {
			s.set("a", "1", time.Hour)
			_, vote, err := s.take(s.attempt("1", "a", "b"))
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Refused, vote, "no token is asked for twice, so it is a ghost's")
			s.requireKeys(map[string]string{"a": "1", "b": ""})
		},
		"the last is of a wrong type": func(s *site) {
			s.list("b")
			state, vote, err := s.take(s.fenced(mad, "1", "a", "b"))
			require.ErrorContains(s.t, err, "WRONGTYPE")
			require.Equal(s.t, stateErrored, state)
			require.Equal(s.t, quorum.Unknown, vote)
			s.requireKeys(map[string]string{"a": "", "~f:a": "", "~f:b": ""})
			s.requireList("b")
		},
		"refused, and the counters stay": func(s *site) {
			s.set("a", "2", time.Hour)
			s.set("~f:a", "7", 0)
			_, vote, err := s.take(s.fenced(mad, "1", "a"))
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Refused, vote)
			s.requireKeys(map[string]string{"~f:a": "7"})
			s.requireNoEnd("~f:a")
		},
	}
}

// counted is what an attempt with this seed, told from the server's clock, makes of a counter.
func (s *site) counted(before string, seed func(now int64) int64) (quorum.Stamp, int64) {
	s.t.Helper()
	if before != "" {
		s.set("~f:a", before, 0)
	}
	now := s.micros()
	a := s.taken(s.fenced(seed(now), "1", "a"))
	got := a.Fencing.Stamps[0]
	require.Equal(s.t, strconv.FormatInt(got.Counter, 10), s.counter("a"))
	s.requireLife("~f:a", time.Hour)
	require.GreaterOrEqual(s.t, got.Time, now)
	require.LessOrEqual(s.t, got.Time, s.micros())
	require.Equal(s.t, max(got.Time-seed(now), seed(now)-got.Time) <= 250_000, got.Seeded)
	return got, seed(now)
}

// near is counted with a seed that is near when the server gets it, however long that takes.
func (s *site) near(before string) (quorum.Stamp, int64) {
	s.t.Helper()
	for range 100 {
		got, seed := s.forTest(s.t).counted(before, func(now int64) int64 { return now + 150_000 })
		if got.Seeded {
			return got, seed
		}
	}
	require.Fail(s.t, "no attempt came within 400 ms of the reading of the clock")
	return quorum.Stamp{}, 0
}

func acquireRaisesTheCountersAboveThemselvesAndToTheSeed() cases {
	far := func(seed func(now int64) int64, before string, want int64) func(*site) {
		return func(s *site) {
			got, _ := s.counted(before, seed)
			require.False(s.t, got.Seeded)
			require.Equal(s.t, want, got.Counter)
		}
	}
	return cases{
		"the seed is near": func(s *site) {
			got, seed := s.near("")
			require.Equal(s.t, seed, got.Counter)
		},
		"the seed is near, and the counter beyond it": func(s *site) {
			got, _ := s.near(strconv.FormatInt(digits16, 10))
			require.Equal(s.t, digits16+1, got.Counter)
		},
		"the seed is far ahead":   far(func(now int64) int64 { return now + 60_000_000 }, "7", 8),
		"the seed is far behind":  far(func(now int64) int64 { return now - 1_000_000 }, "7", 8),
		"the seed is zero":        far(func(int64) int64 { return 0 }, "7", 8),
		"zero, and no counter":    far(func(int64) int64 { return 0 }, "", 1),
		"the seed is below zero":  far(func(int64) int64 { return -1 }, "7", 8),
		"the counter is the last": far(func(int64) int64 { return 0 }, "9007199254740000", 9007199254740001),
	}
}

func severalKeysShareOneNumberAboveAllTheirCounters() cases {
	return cases{
		"the largest is in the middle": func(s *site) {
			s.set("~f:a", "3", 0)
			s.set("~f:b", strconv.FormatInt(digits16, 10), 0)
			a := s.taken(s.fenced(mad, "1", "a", "b", "c"))
			require.Equal(s.t, digits16+1, a.Fencing.Stamps[0].Counter)
			for _, k := range []string{"a", "b", "c"} {
				require.Equal(s.t, strconv.FormatInt(digits16+1, 10), s.counter(k))
				s.requireLife("~f:"+k, time.Hour)
			}
		},
	}
}

func aCounterThatIsNoneCostsTheVoteAndTouchesNothing() cases {
	all := cases{
		"a list": func(s *site) {
			s.list("~f:b")
			state, vote, err := s.take(s.fenced(mad, "1", "a", "b"))
			require.ErrorContains(s.t, err, "WRONGTYPE")
			require.Equal(s.t, stateGranted, state, "the keys are there, and are to be released")
			require.Equal(s.t, quorum.Unknown, vote)
			s.requireKeys(map[string]string{"a": "1", "b": "1", "~f:a": ""})
			s.requireList("~f:b")
		},
	}
	for name, text := range map[string]string{
		"words": "abc", "nothing": " ", "a fraction": "1.5", "below zero": "-5", "an exponent": "1e3", "in hex": "0x10",
		"one below 2^53": "9007199254740991", "20 digits": "99999999999999999999",
	} {
		all[name] = func(s *site) {
			s.set("~f:a", "3", 0)
			s.set("~f:b", text, 0)
			state, vote, err := s.take(s.fenced(s.micros(), "1", "a", "b"))
			require.EqualError(s.t, err, "ERR the counter of the fence is not a number")
			require.Equal(s.t, stateGranted, state)
			require.Equal(s.t, quorum.Unknown, vote)
			s.requireKeys(map[string]string{"a": "1", "b": "1", "~f:a": "3", "~f:b": text})
			s.requireNoEnd("~f:a")
			s.requireNoEnd("~f:b")
		}
	}
	return all
}

// resume takes over from the token old.
func (s *site) resume(a *Attempt) (state, quorum.Vote, error) {
	s.t.Helper()
	a.From = "old"
	return s.take(a)
}

func resumeTakesAllKeysOfOneTokenOrNone() cases {
	return cases{
		"all are that token's": func(s *site) {
			s.set("a", "old", 20*time.Second)
			s.set("b", "old", time.Hour)
			s.set("~f:b", strconv.FormatInt(digits16, 10), 0)
			a := s.fenced(mad, "1", "a", "b")
			_, vote, err := s.resume(a)
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Granted, vote)
			require.Equal(s.t, digits16+1, a.Fencing.Stamps[0].Counter)
			s.requireKeys(map[string]string{"a": "1", "b": "1"})
			s.requireLife("a", time.Minute)
			s.requireLife("b", time.Minute)
			require.Equal(s.t, strconv.FormatInt(digits16+1, 10), s.counter("a"))
			require.Equal(s.t, strconv.FormatInt(digits16+1, 10), s.counter("b"))
		},
		"not fenced, and granted": func(s *site) {
			s.set("a", "old", time.Second*30)
			_, vote, err := s.resume(s.attempt("1", "a"))
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Granted, vote)
			s.requireKeys(map[string]string{"a": "1", "~f:a": ""})
		},
		"one is of a wrong type": func(s *site) {
			s.set("a", "old", time.Second*30)
			s.list("b")
			_, vote, err := s.resume(s.attempt("1", "a", "b"))
			require.ErrorContains(s.t, err, "WRONGTYPE")
			require.Equal(s.t, quorum.Unknown, vote)
			s.requireKeys(map[string]string{"a": "old"})
			s.requireList("b")
		},
	}
}

func resumeIsRefusedWhereAKeyIsNotThatTokens() cases {
	refused := func(s *site, keys map[string]string) {
		for k, v := range keys {
			if v != "" {
				s.set(k, v, time.Second*30)
			}
		}
		state, vote, err := s.resume(s.fenced(mad, "1", "a", "b"))
		require.NoError(s.t, err)
		require.Equal(s.t, stateRefused, state)
		require.Equal(s.t, quorum.Refused, vote)
		s.requireKeys(keys)
		s.requireKeys(map[string]string{"~f:a": "", "~f:b": ""})
	}
	return cases{
		"one is gone":            func(s *site) { refused(s, map[string]string{"a": "old", "b": ""}) },
		"one is somebody else's": func(s *site) { refused(s, map[string]string{"a": "old", "b": "2"}) },
		"one was taken by us":    func(s *site) { refused(s, map[string]string{"a": "old", "b": "1"}) },
		"nothing is there":       func(s *site) { refused(s, map[string]string{"a": "", "b": ""}) },
	}
}
