package node

import (
	"time"

	"github.com/stretchr/testify/require"
)

func whoWaitsStandsInTheQueueOnce() cases {
	return cases{
		"the lock is free": func(s *site) {
			require.Equal(s.t, []any{int64(0)}, s.queue("a", "x", false, false))
			require.Equal(s.t, []any{int64(0)}, s.queue("a", "x", true, false))
			s.requireQueue("a")
		},
		"it waits although the lock is free": func(s *site) {
			s.requireSpot(s.queue("a", "x", false, true), 0, 1, -2)
			left, err := s.client.PTTL(s.t.Context(), s.prefix+"~q:a").Result()
			require.NoError(s.t, err)
			require.LessOrEqual(s.t, left, time.Second)
		},
		"one behind the other": func(s *site) {
			s.set("a", "1", time.Minute)
			for i, id := range []string{"x", "y", "z"} {
				s.requireSpot(s.queue("a", id, false, false), int64(i), int64(i+1), time.Minute)
			}
			s.requireQueue("a", "x", "y", "z")
			s.requireLife("~q:a", time.Minute+time.Second)
		},
		"for as long as the lock is held by then": func(s *site) {
			s.set("a", "1", time.Minute)
			s.queue("a", "x", false, false)
			s.set("a", "1", time.Hour)
			s.requireSpot(s.queue("a", "y", false, false), 1, 2, time.Hour)
			s.requireLife("~q:a", time.Hour+time.Second)
		},
		"a lock without an end": func(s *site) {
			s.set("a", "1", 0)
			s.requireSpot(s.queue("a", "x", false, false), 0, 1, -1)
		},
		"a lock of a wrong type": func(s *site) {
			s.list("a")
			s.requireSpot(s.queue("a", "x", false, false), 0, 1, -1)
			s.requireList("a")
		},
		"twice": func(s *site) {
			s.set("a", "1", time.Minute)
			s.waitsAt("a", "w", "x", "y")
			for range 2 {
				s.requireSpot(s.queue("a", "x", false, false), 1, 3, time.Minute)
				s.requireQueue("a", "w", "x", "y")
			}
		},
		"at the front": func(s *site) {
			s.set("a", "1", time.Minute)
			s.waitsAt("a", "w", "x", "y")
			s.requireSpot(s.queue("a", "z", true, false), 0, 4, time.Minute)
			s.requireQueue("a", "z", "w", "x", "y")
			s.requireSpot(s.queue("a", "x", true, false), 0, 4, time.Minute)
			s.requireQueue("a", "x", "z", "w", "y")
			s.requireSpot(s.queue("a", "x", true, true), 0, 4, time.Minute)
			s.requireQueue("a", "x", "z", "w", "y")
		},
	}
}

func aQueueThatIsOfNoUseIsLeftAlone() cases {
	return cases{
		"one that is too long": func(s *site) {
			s.set("a", "1", time.Minute)
			s.waitsAt("a", dead(1024)...)
			s.requireSpot(s.queue("a", "x", false, false), 1024, 1025, time.Minute)
			got := s.queue("a", "x", false, false)
			require.Equal(s.t, []any{int64(-1), "ERR the queue is too long"}, got)
			require.Equal(s.t, int64(1025), s.client.LLen(s.t.Context(), s.prefix+"~q:a").Val())
		},
		"one of a wrong type": func(s *site) {
			s.set("a", "1", time.Minute)
			s.set("~q:a", "words", 0)
			got := s.queue("a", "x", false, false)
			require.Len(s.t, got, 2)
			require.Equal(s.t, int64(-1), got[0])
			require.Contains(s.t, got[1], "WRONGTYPE")
			got = s.quit("a", "x")
			require.Equal(s.t, int64(-1), got[0])
			require.Contains(s.t, got[1], "WRONGTYPE")
			s.requireKeys(map[string]string{"~q:a": "words"})
			require.Zero(s.t, s.inspect("a").Holding.Waits)
			require.NoError(s.t, s.inspect("a").Err)
		},
	}
}

func whoLeavesPassesOnOnlyWhatItWasTold() cases {
	return cases{
		"it was in the queue": func(s *site) {
			y := s.listen("y")
			s.waitsAt("a", "w", "x", "y", "x")
			require.Equal(s.t, []any{int64(-1), int64(0)}, s.quit("a", "x"))
			s.requireQueue("a", "w", "y")
			y.requireNothing()
		},
		"it was named, and the lock is free": func(s *site) {
			y := s.listen("y")
			s.waitsAt("a", "dead", "y", "z")
			require.Equal(s.t, []any{int64(0), int64(1), "y"}, s.quit("a", "x"))
			s.requireQueue("a", "z")
			y.requireNamed("a")
		},
		"it was named, and nobody else waits": func(s *site) {
			require.Equal(s.t, []any{int64(0), int64(0)}, s.quit("a", "x"))
		},
		"it was named, and somebody has the lock": func(s *site) {
			s.set("a", "1", time.Minute)
			y := s.listen("y")
			s.waitsAt("a", "y")
			require.Equal(s.t, []any{int64(-1), int64(0)}, s.quit("a", "x"))
			s.requireQueue("a", "y")
			y.requireNothing()
		},
		"it is counted until then": func(s *site) {
			s.waitsAt("a", "x", "y")
			require.Equal(s.t, 2, s.inspect("a").Holding.Waits)
			s.quit("a", "x")
			require.Equal(s.t, 1, s.inspect("a").Holding.Waits)
		},
	}
}
