package contention

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/crew"
)

func TestSettingsThatCannotBeRunAreRefused(t *testing.T) {
	t.Parallel()
	require.NoError(t, Full().Validate())
	require.NoError(t, Quick().Validate())
	for want, spoil := range map[string]func(*Settings){
		"rounds 0":          func(s *Settings) { s.Rounds = 0 },
		"side rounds -1":    func(s *Settings) { s.SideRounds = -1 },
		"side rounds 6":     func(s *Settings) { s.SideRounds = 6 },
		"crowd 8":           func(s *Settings) { s.Crowd = Few },
		"crowd 16":          func(s *Settings) { s.Crowd = Queue },
		"hold -1ns":         func(s *Settings) { s.Hold = -1 },
		"drain -1ns":        func(s *Settings) { s.Drain = -1 },
		"window 0s":         func(s *Settings) { s.Window = 0 },
		"window -1ns":       func(s *Settings) { s.StartWindow = -1 },
		"newcomers 0: 1 to": func(s *Settings) { s.Newcomers = 0 },
		"newcomers 1001":    func(s *Settings) { s.Newcomers = maxNewcomers + 1 },
		"starts -1":         func(s *Settings) { s.Starts = -1 },
	} {
		s := Full()
		spoil(&s)
		require.ErrorIs(t, s.Validate(), ErrSettings, want)
		require.ErrorContains(t, s.Validate(), want)
	}
}

// The limit is on `make bench-contention`; the starting of processes is on top, some
// seconds a round.
func TestTheWindowsOfAFullRunLeaveRoomInFourMinutes(t *testing.T) {
	t.Parallel()
	s := Full()
	var library, peers, queues time.Duration
	for _, c := range s.shapes() {
		library += s.window(c)
		peers += 2 * (s.window(c) + s.Drain)
	}
	for _, c := range s.queues() {
		queues += s.window(c)
	}
	starts := 2 * time.Duration(s.Starts) * s.StartWindow
	all := time.Duration(s.Rounds)*library + time.Duration(s.SideRounds)*(peers+queues) + starts
	require.Less(t, all, 3*time.Minute)
}

func TestEveryCellHasANameAndAnOrderForEachProcess(t *testing.T) {
	t.Parallel()
	b := &bench{Settings: Full(), addrs: []string{"a", "b"}}
	names := map[string]bool{}
	for _, c := range append(b.shapes(), b.queues()...) {
		names[c.String()] = true
		orders := b.orders(c)
		require.Len(t, orders, c.Processes+c.Loops, c)
		for i, o := range orders {
			require.Equal(t, i >= c.Processes, o.Loop, "%s: order %d", c, i)
			require.Equal(t, b.Hold, o.Hold)
			require.Equal(t, contender.LibraryName, o.Contender)
			require.Nil(t, o.Once)
		}
	}
	require.Len(t, names, len(b.shapes())+len(b.queues()))
	require.Contains(t, names, "redlock, 16 × 1, beside 4 loops of TryLock")
	require.Contains(t, names, "redlock, 16 × 1, beside 50 fresh processes a second")
}

func TestNewcomersJoinTheQueueOrNeverMeetIt(t *testing.T) {
	t.Parallel()
	b := &bench{Settings: Full()}
	w := crew.Window{Key: "hot", Length: time.Second}
	cells := b.queues()
	joined, elsewhere := cells[3], cells[4]
	require.Equal(t, &w, b.newcomer(joined, w, 7).Once)
	first, second := b.newcomer(elsewhere, w, 1).Once, b.newcomer(elsewhere, w, 2).Once
	require.NotEqual(t, w.Key, first.Key)
	require.NotEqual(t, first.Key, second.Key)
}
