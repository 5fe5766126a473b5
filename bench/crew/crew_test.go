package crew_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/crew"
	"github.com/quorumlock/go-redlock/bench/servers"
)

const (
	hold   = time.Millisecond
	length = 200 * time.Millisecond
	drain  = 5 * time.Second // of a loaded machine
)

func TestMain(m *testing.M) {
	crew.ServeIfAsked()
	os.Exit(m.Run())
}

func masters(t *testing.T) []string {
	t.Helper()
	s, err := servers.Start(t.Context(), 3)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s.Addrs()
}

// self has the members have the race detector, too.
func self(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return program
}

func start(t *testing.T, orders ...crew.Order) *crew.Crew {
	t.Helper()
	// Not killed when the test's context ends: how they end by themselves is looked at.
	c, err := crew.Start(context.WithoutCancel(t.Context()), self(t), orders)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func order(addrs []string) crew.Order {
	return crew.Order{Contender: contender.LibraryName, Addrs: addrs, Callers: 2, Hold: hold}
}

func noop() {}

func TestCallersOfAllProcessesTakeTurnsOnOneKeyAndNeverOverlap(t *testing.T) {
	t.Parallel()
	addrs := masters(t)
	c := start(t, slices.Repeat([]crew.Order{order(addrs)}, 3)...)
	for _, key := range []string{"first", "second"} {
		w := crew.Barrier(key, length, drain)
		var called time.Time
		reports, err := c.Run(w, func() { called = time.Now() })
		require.NoError(t, err)
		require.Len(t, reports, 3)
		require.False(t, called.Before(time.Unix(0, w.From).Add(length)), "the end of the window was told before it")
		var all []crew.Turn
		for _, r := range reports {
			require.Empty(t, r.FirstFailure)
			require.Empty(t, r.GaveUp)
			callers := map[int]bool{}
			for _, turn := range r.Turns {
				callers[turn.Caller] = true
			}
			require.Equal(t, map[int]bool{0: true, 1: true}, callers, "who asked had a turn, in the drain at the latest")
			all = append(all, r.Turns...)
		}
		requireInOrder(t, all)
	}
}

// requireInOrder holds each turn against the window, and all against one another.
func requireInOrder(t *testing.T, turns []crew.Turn) {
	t.Helper()
	slices.SortFunc(turns, func(a, b crew.Turn) int { return int(a.Had - b.Had) })
	end := time.Duration(0)
	for _, turn := range turns {
		require.GreaterOrEqual(t, turn.Asked, time.Duration(0), "nobody asks before the barrier")
		require.Less(t, turn.Asked, length, "nobody asks after the window")
		require.GreaterOrEqual(t, turn.Had, turn.Asked)
		require.GreaterOrEqual(t, turn.Left-turn.Had, hold)
		require.GreaterOrEqual(t, turn.Had, end, "two sections overlap")
		end = turn.Left
	}
}

func TestAWaitThatTheDrainDoesNotEndIsTold(t *testing.T) {
	t.Parallel()
	addrs := masters(t)
	other, err := contender.Library(addrs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	held, err := other.Acquire(t.Context(), "taken")
	require.NoError(t, err)
	const drain = 50 * time.Millisecond
	reports, err := start(t, order(addrs)).Run(crew.Barrier("taken", length, drain), noop)
	require.NoError(t, err)
	require.NoError(t, held.Unlock(t.Context()))
	require.Empty(t, reports[0].Turns)
	require.Zero(t, reports[0].Failures, "a wait that ends with the window is none")
	require.Len(t, reports[0].GaveUp, 2)
	for _, lasted := range reports[0].GaveUp {
		// The asking began a moment after the barrier, on a loaded machine a long one.
		require.InDelta(t, float64(length+drain), float64(lasted), float64(length))
	}
}

func TestALoopNeverWaitsAndTakesTurnsAllTheSame(t *testing.T) {
	t.Parallel()
	o := order(masters(t))
	o.Loop, o.Callers = true, 1
	reports, err := start(t, o).Run(crew.Barrier("key", length, drain), noop)
	require.NoError(t, err)
	require.NotEmpty(t, reports[0].Turns)
	require.Empty(t, reports[0].GaveUp)
	require.Zero(t, reports[0].Failures)
}

func TestANewcomerTakesOneTurnOnTheTimeOfTheOthers(t *testing.T) {
	t.Parallel()
	addrs := masters(t)
	w := crew.Barrier("key", time.Minute, 0)
	w.From -= int64(time.Second)
	o := order(addrs)
	o.Callers, o.Once = 1, &w
	r, err := crew.Newcomer(t.Context(), self(t), o)
	require.NoError(t, err)
	require.Empty(t, r.FirstFailure)
	require.Len(t, r.Turns, 1)
	require.Greater(t, r.Turns[0].Asked, time.Second-time.Second/10, "since the barrier, not since its start")
	w.Length = time.Millisecond
	r, err = crew.Newcomer(t.Context(), self(t), o)
	require.NoError(t, err)
	require.Empty(t, r.Turns, "it came after the window")
}

func TestWhoCannotDoWhatItIsToldFailsTheStart(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]crew.Order{
		"a lock without a way to wait": {Contender: contender.RawName, Addrs: []string{"127.0.0.1:1"}, Callers: 1},
		"a loop of who cannot try":     {Contender: contender.RedsyncName, Addrs: []string{"127.0.0.1:1"}, Callers: 1, Loop: true},
	} {
		c, err := crew.Start(t.Context(), self(t), []crew.Order{o})
		require.ErrorContains(t, err, "did not get warm", name)
		require.ErrorContains(t, err, "exit status 1", name)
		require.Nil(t, c, name)
	}
}

func TestMembersEndWithTheContextInTheMiddleOfAWindow(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c, err := crew.Start(ctx, self(t), []crew.Order{order(masters(t))})
	require.NoError(t, err)
	cancel()
	_, err = c.Run(crew.Barrier("key", time.Millisecond, time.Hour), noop)
	require.Error(t, err)
	require.ErrorContains(t, c.Close(), "killed")
}

func TestATurnIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := crew.Report{Turns: []crew.Turn{{Caller: 3, Asked: -1, Had: 2, Left: 1 << 62}}}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	var got crew.Report
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)
	require.Error(t, json.Unmarshal([]byte(`{"turns":[{"Caller":1}]}`), &got))
}
