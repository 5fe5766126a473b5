package load_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/load"
)

// allocations is what a cycle of the fake allocates: enough that the few of the
// measuring itself do not show.
const allocations = 20

// fake is a contender of known cost that waits and fails as it is told.
type fake struct {
	wait       time.Duration
	acquireErr error
	unlockErr  error
	held       atomic.Int64
	last       atomic.Pointer[[64]byte]
}

func (f *fake) Name() string { return "fake" }
func (f *fake) Close() error { return nil }

func (f *fake) Acquire(context.Context, string) (contender.Held, error) {
	if f.wait > 0 {
		time.Sleep(f.wait)
	}
	if f.acquireErr != nil {
		return nil, f.acquireErr
	}
	for range allocations {
		f.last.Store(new([64]byte))
	}
	f.held.Add(1)
	return f, nil
}

func (f *fake) Unlock(context.Context) error {
	f.held.Add(-1)
	return f.unlockErr
}

func keys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	return keys
}

var brief = load.Window{Warm: 5 * time.Millisecond, Measure: 50 * time.Millisecond}

// Not parallel: the process's allocations are counted.
func TestAllocationsAndCPUAreTheContendersOwn(t *testing.T) {
	var s load.Sample
	require.NoError(t, load.Run(t.Context(), &fake{}, keys(1), brief, &s))
	require.InDelta(t, allocations, float64(s.Mallocs)/float64(s.Attempts), 1)
	require.Positive(t, s.CPU)
	require.NoError(t, s.FirstFailure)
}

func TestTimesAreThoseOfTheCalls(t *testing.T) {
	t.Parallel()
	const wait = 2 * time.Millisecond
	f := &fake{wait: wait}
	var s load.Sample
	require.NoError(t, load.Run(t.Context(), f, keys(3), brief, &s))
	require.GreaterOrEqual(t, s.Acquire.Quantile(0), wait*99/100)
	require.Less(t, s.Release.Quantile(0.5), wait)
	require.GreaterOrEqual(t, s.Elapsed, brief.Measure)
	require.GreaterOrEqual(t, s.Goroutines, 3)
	require.Zero(t, f.held.Load(), "every lock was given back before Run returned")
}

func TestWindowsAddUp(t *testing.T) {
	t.Parallel()
	var s load.Sample
	require.NoError(t, load.Run(t.Context(), &fake{wait: time.Millisecond}, keys(1), brief, &s))
	first := s.Cycles
	require.NoError(t, load.Run(t.Context(), &fake{wait: time.Millisecond}, keys(1), brief, &s))
	require.Greater(t, s.Cycles, first)
	require.GreaterOrEqual(t, s.Elapsed, 2*brief.Measure)
}

func TestAFailedCycleIsCountedAsSuchOnly(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, f := range map[string]*fake{
		"acquire": {wait: time.Millisecond, acquireErr: broken},
		"release": {wait: time.Millisecond, unlockErr: broken},
	} {
		synctest.Test(t, func(t *testing.T) { // the patience takes no time here
			var s load.Sample
			err := load.Run(t.Context(), f, keys(1), brief, &s)
			require.ErrorIs(t, err, load.ErrNoCycle, name)
			require.ErrorIs(t, err, broken, "%s: why there was none", name)
			require.Positive(t, s.Failures, name)
			require.Zero(t, s.Cycles, name)
			require.Zero(t, s.Acquire.Count(), name)
		})
	}
}

func TestAWindowStaysOpenForItsFirstCycle(t *testing.T) {
	t.Parallel()
	var s load.Sample
	f := &fake{wait: 200 * time.Millisecond}
	require.NoError(t, load.Run(t.Context(), f, keys(1), load.Window{Measure: time.Millisecond}, &s))
	require.EqualValues(t, 1, s.Cycles)
	require.GreaterOrEqual(t, s.Elapsed, 100*time.Millisecond)
}

func TestAnEndedContextEndsTheRun(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	f := &fake{wait: time.Millisecond}
	var s load.Sample
	err := load.Run(ctx, f, keys(2), load.Window{Measure: time.Hour}, &s)
	require.ErrorIs(t, err, why)
	require.Zero(t, f.held.Load())
	require.ErrorIs(t, load.Timed(ctx, f, "key", 1, 0, &s), why)
}

func TestTimedRunsAtLeastTheCyclesAndTheTime(t *testing.T) {
	t.Parallel()
	const wait = 5 * time.Millisecond
	var few load.Sample
	require.NoError(t, load.Timed(t.Context(), &fake{wait: wait}, "key", 3, 0, &few))
	require.EqualValues(t, 3, few.Cycles)
	require.GreaterOrEqual(t, few.Elapsed, 3*wait)

	var long load.Sample
	require.NoError(t, load.Timed(t.Context(), &fake{wait: wait}, "key", 1, 4*wait, &long))
	require.GreaterOrEqual(t, long.Elapsed, 4*wait)

	var failing load.Sample
	require.NoError(t, load.Timed(t.Context(), &fake{acquireErr: errors.New("broken")}, "key", 2, 0, &failing))
	require.EqualValues(t, 2, failing.Failures)
	require.EqualError(t, failing.FirstFailure, "broken")
}
