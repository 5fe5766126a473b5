package clock_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

var noon = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

func TestManualStandsStillUntilAdvanced(t *testing.T) {
	t.Parallel()
	m := clock.NewManual(noon)
	require.Zero(t, m.Now())
	require.Equal(t, noon, m.Wall())
	m.Advance(time.Minute)
	m.Advance(0)
	require.Equal(t, time.Minute, m.Now())
	require.Equal(t, noon.Add(time.Minute), m.Wall())
}

func TestManualWallStepsLeaveNowAndTimersAlone(t *testing.T) {
	t.Parallel()
	m := clock.NewManual(noon)
	called := false
	m.AfterFunc(time.Minute, func() { called = true })
	m.StepWall(time.Hour)
	require.Equal(t, noon.Add(time.Hour), m.Wall())
	m.StepWall(-3 * time.Hour)
	require.Equal(t, noon.Add(-2*time.Hour), m.Wall())
	require.Zero(t, m.Now())
	m.Advance(time.Minute - 1)
	require.False(t, called)
	m.Advance(1)
	require.True(t, called)
	require.Equal(t, noon.Add(time.Minute-2*time.Hour), m.Wall())
}

func TestManualWallHasNoMonotonicReading(t *testing.T) {
	t.Parallel()
	require.NotContains(t, clock.NewManual(time.Now()).Wall().String(), "m=")
}

func TestManualCallsInTheOrderOfTimesAndThenOfSetting(t *testing.T) {
	t.Parallel()
	m := clock.NewManual(noon)
	type call struct {
		name string
		at   time.Duration
		wall time.Time
	}
	var calls []call
	set := func(name string, d time.Duration) {
		m.AfterFunc(d, func() { calls = append(calls, call{name, m.Now(), m.Wall()}) })
	}
	set("three", 3)
	set("one", 1)
	set("one again", 1)
	set("zero", 0)
	set("past", -5)
	set("two", 2)
	set("never", math.MaxInt64)
	require.Empty(t, calls, "nothing is called outside Advance")

	m.Advance(0)
	require.Equal(t, []call{{"zero", 0, noon}, {"past", 0, noon}}, calls)
	m.Advance(2)
	m.Advance(10)
	require.Equal(t, []call{
		{"zero", 0, noon},
		{"past", 0, noon},
		{"one", 1, noon.Add(1)},
		{"one again", 1, noon.Add(1)},
		{"two", 2, noon.Add(2)},
		{"three", 3, noon.Add(3)},
	}, calls)
	require.Equal(t, 12*time.Nanosecond, m.Now())
}

func TestManualStopKeepsAFunctionFromBeingCalledOnce(t *testing.T) {
	t.Parallel()
	m := clock.NewManual(noon)
	called := 0
	stopped := m.AfterFunc(1, func() { called++ })
	fired := m.AfterFunc(1, func() { called++ })
	require.True(t, stopped())
	require.False(t, stopped())
	m.Advance(1)
	require.Equal(t, 1, called)
	require.False(t, fired())
}

func TestManualFunctionMayUseTheClock(t *testing.T) {
	t.Parallel()
	m := clock.NewManual(noon)
	var at []time.Duration
	var tick func()
	tick = func() {
		at = append(at, m.Now())
		m.AfterFunc(10, tick)
	}
	m.AfterFunc(10, tick)
	victim := m.AfterFunc(25, func() { at = append(at, -1) })
	m.AfterFunc(24, func() { require.True(t, victim()) })
	m.AfterFunc(30, func() { m.Advance(5) })
	m.Advance(32)
	require.Equal(t, []time.Duration{10, 20, 30}, at)
	require.Equal(t, 35*time.Nanosecond, m.Now(), "the inner Advance went further, and it holds")
}

func TestManualStopsAtTheEndOfItsRange(t *testing.T) {
	t.Parallel()
	m := clock.NewManual(noon)
	m.Advance(time.Hour)
	called := false
	m.AfterFunc(math.MaxInt64, func() { called = true })
	m.Advance(time.Hour)
	require.False(t, called, "no overflow into the past")
	m.Advance(math.MaxInt64)
	require.True(t, called)
	require.Equal(t, time.Duration(math.MaxInt64), m.Now())
}

func TestManualDoesNotGoBack(t *testing.T) {
	t.Parallel()
	m := clock.NewManual(noon)
	require.PanicsWithValue(t, "clock: Advance by a negative duration", func() { m.Advance(-1) })
	require.Zero(t, m.Now())
}

func TestManualMayBeUsedBySeveralGoroutines(t *testing.T) {
	t.Parallel()
	m := clock.NewManual(noon)
	const workers, rounds = 4, 200
	var called, stopped atomic.Int64
	var stuck atomic.Bool
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range rounds {
				stop := m.AfterFunc(time.Duration(i%7), func() { called.Add(1) })
				last := m.Now()
				m.Advance(1)
				stuck.Store(stuck.Load() || m.Now() <= last)
				m.StepWall(time.Second)
				if i%3 == 0 && stop() {
					stopped.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.False(t, stuck.Load())
	m.Advance(10)
	require.EqualValues(t, workers*rounds, called.Load()+stopped.Load(), "each is called or stopped, never both")
}
