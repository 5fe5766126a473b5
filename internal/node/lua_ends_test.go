package node

import (
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// endings are the scripts that give a lock up, on an attempt with the token 1 that took over from 0.
var endings = map[string]func(*Attempt){
	"release": func(*Attempt) {},
	"leave":   func(a *Attempt) { a.End, a.Until = Leave, 20*time.Second },
	"restore": func(a *Attempt) { a.End, a.From = Restore, "0" },
}

func everyEndingGivesUpWhatIsOursAndNothingElse() cases {
	all := cases{}
	for name, end := range endings {
		ours := map[string]string{"release": "", "leave": "1", "restore": "0"}[name]
		life := map[string]time.Duration{"leave": 20 * time.Second, "restore": 40 * time.Second}[name]
		// Of the keys a, b and c, b is what the case is about; the others are ours, and are given up in any case.
		given := func(s *site, b func()) (quorum.Answer, error) {
			s.set("a", "1", 40*time.Second)
			s.set("c", "1", 40*time.Second)
			if b != nil {
				b()
			}
			a := s.attempt("1", "a", "b", "c")
			end(a)
			answer, err := s.giveUp(a)
			s.requireKeys(map[string]string{"a": ours, "c": ours})
			if ours != "" {
				s.requireLife("a", life)
				s.requireLife("c", life)
			}
			return answer, err
		}
		all[name+" of all"] = func(s *site) {
			answer, err := given(s, func() { s.set("b", "1", 40*time.Second) })
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Deleted, answer)
			s.requireKeys(map[string]string{"b": ours})
		}
		all[name+", one is gone"] = func(s *site) {
			answer, err := given(s, nil)
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Absent, answer)
			s.requireKeys(map[string]string{"b": ""})
		}
		all[name+", one is somebody else's"] = func(s *site) {
			answer, err := given(s, func() { s.set("b", "2", time.Hour) })
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Foreign, answer)
			s.requireKeys(map[string]string{"b": "2"})
			s.requireLife("b", time.Hour)
		}
		all[name+", one is of a wrong type"] = func(s *site) {
			answer, err := given(s, func() { s.list("b") })
			require.ErrorContains(s.t, err, "WRONGTYPE")
			require.Equal(s.t, quorum.NoAnswer, answer)
			s.requireList("b")
		}
	}
	return all
}

func theTokenThatWasTakenOverIsReleasedAndLeftButNotRestored() cases {
	held := func(s *site, keys map[string]string) *Attempt {
		for key, token := range keys {
			s.set(key, token, 40*time.Second)
		}
		a := s.attempt("1", "a", "b")
		a.From = "0"
		return a
	}
	return cases{
		"release": func(s *site) {
			answer, err := s.giveUp(held(s, map[string]string{"a": "0", "b": "1"}))
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Deleted, answer)
			s.requireKeys(map[string]string{"a": "", "b": ""})
		},
		"release, one is somebody else's": func(s *site) {
			answer, err := s.giveUp(held(s, map[string]string{"a": "0", "b": "2"}))
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Foreign, answer)
			s.requireKeys(map[string]string{"a": "", "b": "2"})
		},
		"leave": func(s *site) {
			a := held(s, map[string]string{"a": "0", "b": "1"})
			a.End, a.Until = Leave, 20*time.Second
			answer, err := s.giveUp(a)
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Deleted, answer)
			s.requireKeys(map[string]string{"a": "0", "b": "1"})
			s.requireLife("a", 20*time.Second)
			s.requireLife("b", 20*time.Second)
		},
		"restore": func(s *site) {
			a := held(s, map[string]string{"a": "0", "b": "1"})
			a.End = Restore
			answer, err := s.giveUp(a)
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Foreign, answer)
			s.requireKeys(map[string]string{"a": "0", "b": "0"})
		},
	}
}

func aForeignKeyIsToldWhateverElseIsGone() cases {
	return cases{
		"gone behind it": func(s *site) {
			s.set("a", "2", time.Hour)
			answer, err := s.giveUp(s.attempt("1", "a", "b"))
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Foreign, answer)
		},
		"gone ahead of it": func(s *site) {
			s.set("b", "2", time.Hour)
			answer, err := s.giveUp(s.attempt("1", "a", "b"))
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Foreign, answer)
		},
	}
}

func aLifeThatIsOverLeavesAKeyForAMillisecondAndNoLonger() cases {
	return cases{
		"left in the past": func(s *site) {
			s.set("a", "1", time.Hour)
			a := s.attempt("1", "a")
			a.End, a.Until = Leave, -time.Hour
			answer, err := s.giveUp(a)
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Deleted, answer)
			require.Eventually(s.t, func() bool {
				n, err := s.client.Exists(s.t.Context(), s.prefix+"a").Result()
				return err == nil && n == 0
			}, 10*time.Second, time.Millisecond)
		},
		"left for longer than it was to live": func(s *site) {
			s.set("a", "1", time.Minute)
			a := s.attempt("1", "a")
			a.End, a.Until = Leave, time.Hour
			_, err := s.giveUp(a)
			require.NoError(s.t, err)
			s.requireLife("a", time.Hour)
		},
	}
}

func inspectTellsWhatIsThereAndTouchesNothing() cases {
	return cases{
		"a lock and its counter": func(s *site) {
			s.set("a", "1 a label", 30*time.Second)
			s.set("~f:a", strconv.FormatInt(digits16, 10), 0)
			got := s.inspect("a")
			require.NoError(s.t, got.Err)
			require.Equal(s.t, quorum.Confirmed, got.Confirmation)
			require.Equal(s.t, "1 a label", got.Holding.Token)
			require.LessOrEqual(s.t, got.Holding.Life, 30*time.Second)
			require.Greater(s.t, got.Holding.Life, 20*time.Second)
			require.Equal(s.t, digits16, got.Holding.Fence)
			s.requireKeys(map[string]string{"a": "1 a label"})
			s.requireLife("a", 30*time.Second)
			s.requireNoEnd("~f:a")
		},
		"nothing": func(s *site) {
			got := s.inspect("a")
			require.NoError(s.t, got.Err)
			require.Equal(s.t, quorum.Confirmed, got.Confirmation)
			require.Empty(s.t, got.Holding.Token)
			require.Zero(s.t, got.Holding.Fence)
		},
		"a key without an end": func(s *site) {
			s.set("a", "1", 0)
			require.Negative(s.t, s.inspect("a").Holding.Life)
			s.requireNoEnd("a")
		},
	}
}

func inspectReportsWhatIsOfAWrongType() cases {
	return cases{
		"a key of a wrong type": func(s *site) {
			s.list("a")
			got := s.inspect("a")
			require.ErrorContains(s.t, got.Err, "WRONGTYPE")
			require.Equal(s.t, quorum.Unconfirmed, got.Confirmation)
			s.requireList("a")
		},
		"a counter of a wrong type": func(s *site) {
			s.set("a", "1", time.Minute)
			s.list("~f:a")
			got := s.inspect("a")
			require.NoError(s.t, got.Err)
			require.Equal(s.t, "1", got.Holding.Token)
			require.Zero(s.t, got.Holding.Fence)
			s.requireList("~f:a")
		},
		"a counter that is no number": func(s *site) {
			s.set("~f:a", "99999999999999999999", 0)
			got := s.inspect("a")
			require.NoError(s.t, got.Err)
			require.Zero(s.t, got.Holding.Fence)
		},
	}
}

func aFenceOf16DigitsSurvivesEveryScript() cases {
	want := strconv.FormatInt(digits16, 10)
	return cases{
		"from script to script": func(s *site) {
			s.set("~f:a", strconv.FormatInt(digits16-1, 10), 0)
			a := s.taken(s.fenced(mad, "1", "a"))
			require.Equal(s.t, digits16, a.Fencing.Stamps[0].Counter)
			require.Equal(s.t, want, s.counter("a"))

			require.Equal(s.t, quorum.Confirmed, s.raise(a, digits16).Confirmation)
			require.Equal(s.t, want, s.counter("a"))
			require.Equal(s.t, quorum.Confirmed, s.extend(a).Confirmation)
			require.Equal(s.t, want, s.counter("a"))

			require.NoError(s.t, s.client.Del(s.t.Context(), s.prefix+"a", s.prefix+"~f:a").Err())
			s.repaired(a, digits16)
			require.Equal(s.t, want, s.counter("a"))

			heir := s.fenced(mad, "2", "a")
			heir.From = "1"
			s.taken(heir)
			require.Equal(s.t, digits16+1, heir.Fencing.Stamps[0].Counter)
			require.Equal(s.t, digits16+1, s.inspect("a").Holding.Fence)

			heir.End = Restore
			answer, err := s.giveUp(heir)
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Deleted, answer)
			require.Equal(s.t, strconv.FormatInt(digits16+1, 10), s.counter("a"))
		},
	}
}
