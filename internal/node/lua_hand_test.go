package node

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// dead are n waiters that nobody hears.
func dead(n int) (all []any) {
	for i := range n {
		all = append(all, fmt.Sprint("dead", i))
	}
	return all
}

func aReleaseNamesTheNextWhoListens() cases {
	named := func(ahead int, left ...string) func(*site) {
		return func(s *site) {
			s.set("a", "1", time.Minute)
			first, second := s.listen("x"), s.listen("y")
			s.waitsAt("a", append(dead(ahead), "x", "y")...)
			answer, told, err := s.hand(s.attempt("1", "a"), "a")
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Deleted, answer)
			require.Equal(s.t, []any{int64(1), "x"}, told)
			first.requireNamed("a")
			second.requireNothing()
			s.requireQueue("a", left...)
			s.requireKeys(map[string]string{"a": ""})
		}
	}
	return cases{
		"the first":               named(0, "y"),
		"behind one dead":         named(1, "y"),
		"behind as many as it is": named(63, "y"),
		"nobody behind 64 dead, the next time": func(s *site) {
			s.set("a", "1", time.Minute)
			x := s.listen("x")
			s.waitsAt("a", append(dead(65), "x")...)
			for _, left := range [][]string{{"dead64", "x"}, {}} {
				_, told, err := s.hand(s.attempt("1", "a"), "a")
				require.NoError(s.t, err)
				require.Equal(s.t, len(left) == 0, len(told) == 2)
				s.requireQueue("a", left...)
			}
			x.requireNamed("a")
		},
		"nobody waits": func(s *site) {
			s.set("a", "1", time.Minute)
			answer, told, err := s.hand(s.attempt("1", "a"), "a")
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Deleted, answer)
			require.Equal(s.t, []any{int64(0)}, told)
		},
		"our own key is gone": func(s *site) {
			x := s.listen("x")
			s.waitsAt("a", "x")
			answer, told, err := s.hand(s.attempt("1", "a"), "a")
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Absent, answer)
			require.Equal(s.t, []any{int64(1), "x"}, told)
			x.requireNamed("a")
		},
		"of what was taken over": func(s *site) {
			s.set("a", "0", time.Minute)
			x := s.listen("x")
			s.waitsAt("a", "x")
			heir := s.attempt("1", "a")
			heir.From = "0"
			answer, _, err := s.hand(heir, "a")
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Deleted, answer)
			x.requireNamed("a")
			s.requireKeys(map[string]string{"a": ""})
		},
		"of each key that is asked for": func(s *site) {
			s.set("a", "1", time.Minute)
			s.set("b", "1", time.Minute)
			x, y := s.listen("x"), s.listen("y")
			s.waitsAt("a", "x", "z")
			s.waitsAt("b", "y")
			s.waitsAt("c", "z")
			answer, told, err := s.hand(s.attempt("1", "a", "b"), "a", "b")
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Deleted, answer)
			require.Equal(s.t, int64(1), told[0])
			x.requireNamed("a")
			y.requireNamed("b")
			s.requireQueue("a", "z")
			s.requireQueue("c", "z")
		},
	}
}

func aReleaseNamesNobodyWhereItMayNot() cases {
	return cases{
		"a foreign token": func(s *site) {
			s.set("a", "2", time.Minute)
			x := s.listen("x")
			s.waitsAt("a", "x")
			answer, told, err := s.hand(s.attempt("1", "a"), "a")
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Foreign, answer)
			require.Equal(s.t, []any{int64(0)}, told)
			x.requireNothing()
			s.requireQueue("a", "x")
			s.requireKeys(map[string]string{"a": "2"})
		},
		"a foreign token under one of several keys": func(s *site) {
			s.set("a", "1", time.Minute)
			s.set("b", "2", time.Minute)
			x := s.listen("x")
			s.waitsAt("a", "x")
			answer, told, err := s.hand(s.attempt("1", "a", "b"), "a", "b")
			require.NoError(s.t, err)
			require.Equal(s.t, quorum.Foreign, answer)
			require.Equal(s.t, []any{int64(0)}, told)
			x.requireNothing()
			s.requireKeys(map[string]string{"a": "", "b": "2"})
		},
		"a key of a wrong type": func(s *site) {
			s.list("a")
			s.set("b", "1", time.Minute)
			x := s.listen("x")
			s.waitsAt("a", "x")
			_, _, err := s.hand(s.attempt("1", "a", "b"), "a")
			require.ErrorContains(s.t, err, "WRONGTYPE")
			x.requireNothing()
			s.requireKeys(map[string]string{"b": ""})
			s.requireList("a")
		},
		"a queue of a wrong type": func(s *site) {
			s.set("a", "1", time.Minute)
			s.set("~q:a", "words", 0)
			answer, told, err := s.hand(s.attempt("1", "a"), "a")
			require.NoError(s.t, err, "a release must delete, whatever is beside the key")
			require.Equal(s.t, quorum.Deleted, answer)
			require.Len(s.t, told, 1)
			require.Contains(s.t, told[0], "WRONGTYPE")
			s.requireKeys(map[string]string{"a": "", "~q:a": "words"})
		},
	}
}
