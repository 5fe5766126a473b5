package contention

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/crew"
)

const ms = time.Millisecond

func turn(caller int, asked, had, left time.Duration) crew.Turn {
	return crew.Turn{Caller: caller, Asked: asked, Had: had, Left: left}
}

// seen is a window of 100 ms: two processes of two callers, of which one has no turn.
func seen() *window {
	return &window{
		length: 100 * ms, callers: 2, commands: 60,
		crew: []*crew.Report{
			{Turns: []crew.Turn{turn(0, 0, 1*ms, 3*ms), turn(0, 4*ms, 10*ms, 12*ms), turn(1, 0, 20*ms, 22*ms)}},
			{Turns: []crew.Turn{turn(1, 90*ms, 120*ms, 122*ms)}, GaveUp: []time.Duration{200 * ms}, Failures: 2},
		},
		beside: []*crew.Report{{Turns: []crew.Turn{turn(0, 50*ms, 50*ms, 52*ms), turn(0, 99*ms, 101*ms, 103*ms)}}},
	}
}

func TestATurnCountsWhereItBeganInTheWindow(t *testing.T) {
	t.Parallel()
	f, _ := seen().figures()
	require.InDelta(t, 30, f.Sections, 1e-9, "3 of 4 in 0.1 s")
	require.InDelta(t, 10, f.Taken, 1e-9, "1 of 2 in 0.1 s")
	require.Zero(t, f.FewestTurns, "one caller of the second process had none in the window, the other none at all")
	require.InDelta(t, 2, f.MostTurns, 0)
	require.InDelta(t, 15, f.Commands, 1e-9, "60 for the crew's 3 and the 1 beside")
	require.InDelta(t, 1, f.First, 1e-9)
	require.InDelta(t, 2, f.Failures, 0)
}

func TestFailuresAreThoseOfAllWhereverTheyAsked(t *testing.T) {
	t.Parallel()
	w := seen()
	w.beside[0].Failures = 3
	w.away = []*crew.Report{{Failures: 4}}
	f, _ := w.figures()
	require.InDelta(t, 9, f.Failures, 0)
}

func TestAWaitCountsHoweverLateItEndedAndIfItDidNot(t *testing.T) {
	t.Parallel()
	f, waits := seen().figures()
	require.Equal(t, []time.Duration{1 * ms, 6 * ms, 20 * ms, 30 * ms, 200 * ms}, waits, "the crew's, sorted")
	require.InDelta(t, 20, f.WaitP50, 1e-9)
	require.InDelta(t, 200, f.WaitMax, 1e-9)
	require.InDelta(t, 1, f.GaveUp, 0)
}

func TestSectionsThatOverlapAreFoundAcrossProcessesAndTheirGuests(t *testing.T) {
	t.Parallel()
	f, _ := seen().figures()
	require.Zero(t, f.Overlaps)
	for name, spoil := range map[string]func(*window){
		"in another process": func(w *window) { w.crew[0].Turns[2].Left = 121 * ms },
		"beside the crew":    func(w *window) { w.beside[0].Turns[0].Had = 21 * ms },
		"inside a long one":  func(w *window) { w.crew[0].Turns[0].Left = 11 * ms },
	} {
		w := seen()
		spoil(w)
		f, _ := w.figures()
		require.Positive(t, f.Overlaps, name)
	}
}

// The definition: each section against each other one.
func TestOverlapsAgreeWithEachAgainstEach(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		w := &window{crew: []*crew.Report{{}}}
		for range 6 {
			had := time.Duration(random.Int64N(40))
			w.crew[0].Turns = append(w.crew[0].Turns, turn(0, 0, had, had+1+time.Duration(random.Int64N(6))))
		}
		any := false
		for i, a := range w.crew[0].Turns {
			for _, b := range w.crew[0].Turns[:i] {
				any = any || a.Had < b.Left && b.Had < a.Left
			}
		}
		require.Equal(t, any, w.overlaps() > 0, "%v", w.crew[0].Turns)
	}
}

func TestAWindowInWhichNobodyHadAnythingHasFigures(t *testing.T) {
	t.Parallel()
	w := &window{length: 100 * ms, callers: 1, commands: 10, crew: []*crew.Report{{}}}
	f, waits := w.figures()
	require.Equal(t, Figures{First: 100}, f, "no division by zero, no NaN")
	require.Empty(t, waits)
}

func TestAQuantileIsTheRankedWait(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		require.Equal(t, want, quantile(hundred, q), "%v", q)
	}
	require.Zero(t, quantile(nil, 0.5))
}

func TestAStartWithoutASectionIsToldFromALateOne(t *testing.T) {
	t.Parallel()
	at := func(had time.Duration) *window {
		return &window{length: 150 * ms, callers: 1, crew: []*crew.Report{{}, {Turns: []crew.Turn{turn(0, 0, had, had)}}}}
	}
	var s Starts
	s.add(&window{length: 150 * ms, late: 7 * ms, callers: 1, crew: at(100 * ms).crew})
	require.Zero(t, s.Slow, "in time")
	s.add(at(101 * ms))
	require.Equal(t, 1, s.Slow)
	require.Zero(t, s.Without)
	s.add(&window{length: 150 * ms, callers: 1, crew: []*crew.Report{{}}})
	require.Equal(t, Starts{Firsts: []float64{100, 101}, Without: 1, Slow: 2, Late: 7}, s, "and the worst lateness is kept")
}

func TestRoundsOfACellAddUpAndTheirWaitsAreOneDistribution(t *testing.T) {
	t.Parallel()
	var r Results
	for i := range 3 {
		r.add(Alone(), Figures{Sections: float64(i)}, []time.Duration{time.Duration(i+1) * 10 * ms})
	}
	r.add(Library(Few, 1), Figures{}, nil)
	require.Len(t, r.Rows, 2)
	require.Len(t, r.Rounds(Alone()), 3)
	curve := r.Row(Alone()).Curve
	require.Len(t, curve, steps+1)
	require.IsNonDecreasing(t, curve)
	require.InDelta(t, 10, curve[0], 0.1)
	require.InDelta(t, 20, curve[steps/2], 0.1)
	require.InDelta(t, 30, curve[steps], 0.1)
	require.Nil(t, r.Rounds(Library(1, Many)))
}
