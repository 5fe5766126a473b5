package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// onRealTime returns the clocks that run by themselves.
func onRealTime() map[string]clock.Clock {
	return map[string]clock.Clock{"System": clock.System(), "Monotonic": clock.Monotonic()}
}

func TestNowRunsLikePackageTime(t *testing.T) {
	t.Parallel()
	for name, c := range onRealTime() {
		outer := time.Now()
		start := c.Now()
		inner := time.Now()
		fired := make(chan struct{})
		c.AfterFunc(20*time.Millisecond, func() { close(fired) })
		<-fired
		least := time.Since(inner)
		passed := c.Now() - start
		most := time.Since(outer)
		require.GreaterOrEqual(t, least, 20*time.Millisecond, name)
		require.GreaterOrEqual(t, passed, least-time.Millisecond, name)
		require.LessOrEqual(t, passed, most+5*time.Millisecond, name)
	}
}

func TestWallIsThePresentWithoutAMonotonicReading(t *testing.T) {
	t.Parallel()
	for name, c := range onRealTime() {
		wall := c.Wall()
		require.WithinDuration(t, time.Now(), wall, time.Minute, name)
		require.NotContains(t, wall.String(), "m=", name)
	}
}

func TestStoppedFunctionIsNotCalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range onRealTime() {
			called := false
			stop := c.AfterFunc(time.Second, func() { called = true })
			time.Sleep(time.Second - 1)
			require.True(t, stop())
			require.False(t, stop(), "stopped before")
			time.Sleep(time.Hour)
			require.False(t, called)
		}
	})
}

func TestStopAfterTheCallReportsFalse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range onRealTime() {
			called := false
			stop := c.AfterFunc(time.Second, func() { called = true })
			time.Sleep(time.Second)
			synctest.Wait()
			require.True(t, called)
			require.False(t, stop())
		}
	})
}

func TestMonotonicRunsOnTheTimeOfABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := clock.Monotonic()
		require.Zero(t, c.Now())
		wall := c.Wall()
		at := make(chan time.Duration, 1)
		c.AfterFunc(time.Hour, func() { at <- c.Now() })
		time.Sleep(25 * time.Hour)
		require.Equal(t, time.Hour, <-at)
		require.Equal(t, 25*time.Hour, c.Now())
		require.Equal(t, 25*time.Hour, c.Wall().Sub(wall))
	})
}

func TestSystemIsOneClockAndEachMonotonicAnother(t *testing.T) {
	t.Parallel()
	one, two := clock.System(), clock.System()
	require.Same(t, one, two)
	one, two = clock.Monotonic(), clock.Monotonic()
	require.NotSame(t, one, two)
}

// Not parallel: testing.AllocsPerRun counts what all goroutines allocate.
func TestNowDoesNotAllocate(t *testing.T) {
	for name, c := range map[string]clock.Clock{
		"System": clock.System(), "Monotonic": clock.Monotonic(), "Manual": clock.NewManual(time.Time{}),
	} {
		require.Zero(t, testing.AllocsPerRun(100, func() { c.Now() }), name)
		require.Zero(t, testing.AllocsPerRun(100, func() { c.Wall() }), name)
	}
}
