package node

import (
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
)

func repairSetsWhatIsMissing() cases {
	fence := strconv.FormatInt(digits16, 10)
	return cases{
		"all are missing": func(s *site) {
			s.repaired(s.fenced(mad, "1", "a", "b"), digits16)
			s.requireKeys(map[string]string{"a": "1", "b": "1"})
			s.requireLife("a", time.Minute)
			s.requireLife("b", time.Minute)
			require.Equal(s.t, fence, s.counter("a"))
			require.Equal(s.t, fence, s.counter("b"))
			s.requireLife("~f:a", time.Hour)
		},
		"one is missing": func(s *site) {
			s.set("a", "1", time.Hour)
			s.repaired(s.attempt("1", "a", "b"), 0)
			s.requireKeys(map[string]string{"a": "1", "b": "1", "~f:a": "", "~f:b": ""})
			s.requireLife("a", time.Hour)
			s.requireLife("b", time.Minute)
		},
		"one has no end": func(s *site) {
			s.set("a", "1", 0)
			s.repaired(s.attempt("1", "a"), 0)
			s.requireLife("a", time.Minute)
		},
	}
}

func repairTouchesNothingThatIsNotOurs() cases {
	return cases{
		"one is somebody else's": func(s *site) {
			s.set("b", "2", 30*time.Second)
			s.set("~f:a", "7", 0)
			state, err := s.repair(s.fenced(mad, "1", "a", "b"), digits16)
			require.NoError(s.t, err)
			require.Equal(s.t, stateRefused, state)
			s.requireKeys(map[string]string{"a": "", "b": "2", "~f:a": "7", "~f:b": ""})
			s.requireLife("b", 30*time.Second)
		},
		"one is of a wrong type": func(s *site) {
			s.list("b")
			state, err := s.repair(s.fenced(mad, "1", "a", "b"), digits16)
			require.ErrorContains(s.t, err, "WRONGTYPE")
			require.Equal(s.t, stateErrored, state)
			s.requireKeys(map[string]string{"a": "", "~f:a": "", "~f:b": ""})
			s.requireList("b")
		},
		"the counter is above": func(s *site) {
			above := strconv.FormatInt(digits16+1, 10)
			s.set("~f:a", above, time.Minute)
			s.repaired(s.fenced(mad, "1", "a"), digits16)
			require.Equal(s.t, above, s.counter("a"))
			s.requireLife("~f:a", time.Hour)
		},
		"the counter is a list": func(s *site) {
			s.list("~f:a")
			s.repaired(s.fenced(mad, "1", "a"), digits16)
			s.requireKeys(map[string]string{"a": "1"})
			s.requireList("~f:a")
		},
		"the counter is words": func(s *site) {
			s.set("~f:a", "abc", 0)
			s.repaired(s.fenced(mad, "1", "a"), digits16)
			s.requireKeys(map[string]string{"a": "1", "~f:a": "abc"})
			s.requireNoEnd("~f:a")
		},
	}
}
