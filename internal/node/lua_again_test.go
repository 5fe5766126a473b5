package node

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func askingAgainTakesWhatIsFreeOrOurs() cases {
	all := cases{
		"the counters rise": func(s *site) {
			s.set("~f:a", "7", 0)
			a := s.fenced(mad, "1", "a")
			state, vote, _, err := s.askAgain(a)
			require.NoError(s.t, err)
			require.Equal(s.t, stateGranted, state)
			require.Equal(s.t, quorum.Granted, vote)
			require.Equal(s.t, "8", s.counter("a"))
		},
		"one is of a wrong type": func(s *site) {
			s.list("b")
			state, _, _, err := s.askAgain(s.attempt("1", "a", "b"))
			require.ErrorContains(s.t, err, "WRONGTYPE")
			require.Equal(s.t, stateErrored, state)
			s.requireKeys(map[string]string{"a": ""})
			s.requireList("b")
		},
		"refused, and nothing changes": func(s *site) {
			s.set("a", "1", time.Hour)
			s.set("b", "2", time.Hour)
			s.set("~f:a", "7", 0)
			state, vote, key, err := s.askAgain(s.fenced(mad, "1", "a", "b", "c"))
			require.NoError(s.t, err)
			require.Equal(s.t, stateRefused, state)
			require.Equal(s.t, quorum.Refused, vote)
			require.Equal(s.t, 2, key)
			s.requireKeys(map[string]string{"a": "1", "b": "2", "c": "", "~f:a": "7"})
			s.requireLife("a", time.Hour)
		},
	}
	for name, had := range map[string][]string{"all are free": nil, "one is ours": {"b"}, "all are ours": {"a", "b"}} {
		all[name] = func(s *site) {
			for _, key := range had {
				s.set(key, "1", 20*time.Second)
			}
			state, vote, _, err := s.askAgain(s.attempt("1", "a", "b"))
			require.NoError(s.t, err)
			require.Equal(s.t, stateGranted, state)
			require.Equal(s.t, quorum.Granted, vote)
			for _, key := range []string{"a", "b"} {
				s.requireKeys(map[string]string{key: "1"})
				s.requireLife(key, time.Minute)
			}
		}
	}
	return all
}
