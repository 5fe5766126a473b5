package clock

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pair is a host's two clocks, and an accumulator on them.
type pair struct {
	mono, wall time.Duration
	acc        accumulator
}

func newPair() *pair {
	const year2024 = 54 * 365 * 24 * time.Hour
	return &pair{wall: year2024, acc: accumulator{gap: year2024}}
}

// pass lets both clocks make a step, which need not be the same, and reads them.
func (p *pair) pass(mono, wall time.Duration) time.Duration {
	p.mono += mono
	p.wall += wall
	return p.acc.advance(p.mono, p.wall)
}

func TestAccumulatorCountsWhatPassed(t *testing.T) {
	t.Parallel()
	p := newPair()
	require.Zero(t, p.pass(0, 0))
	require.Equal(t, time.Second, p.pass(time.Second, time.Second))
	require.Equal(t, 3*time.Second, p.pass(2*time.Second, 2*time.Second))
}

func TestAccumulatorCountsSuspendedTime(t *testing.T) {
	t.Parallel()
	p := newPair()
	require.Equal(t, time.Hour, p.pass(time.Millisecond, time.Hour), "the monotonic clock stood still")
	require.Equal(t, time.Hour+time.Second, p.pass(time.Second, time.Second))
}

func TestAccumulatorRunsOnWhenTheWallClockIsPutBack(t *testing.T) {
	t.Parallel()
	p := newPair()
	require.Equal(t, time.Second, p.pass(time.Second, -time.Hour))
	require.Equal(t, 2*time.Second, p.pass(time.Second, time.Second))
	require.Equal(t, time.Hour+3*time.Second, p.pass(time.Second, time.Hour+time.Second), "a suspend after that")
}

// The larger of the two totals would stand still for an hour after the second step.
func TestAccumulatorTakesNothingBackWhenAClockPutForwardIsPutRight(t *testing.T) {
	t.Parallel()
	p := newPair()
	require.Equal(t, time.Hour, p.pass(time.Second, time.Hour))
	require.Equal(t, time.Hour+time.Second, p.pass(time.Second, -time.Hour))
	require.Equal(t, time.Hour+2*time.Second, p.pass(time.Second, time.Second))
}

func TestAccumulatorIgnoresThatTwoClocksAreNeverReadAtOnce(t *testing.T) {
	t.Parallel()
	p := newPair()
	for n := range 1_000 {
		wall := time.Duration(50 - 20*(n%2)) // 30 ns and 50 ns in turn
		p.pass(40, wall)
	}
	require.Equal(t, 40*time.Microsecond, p.pass(0, 0))
}

func TestAccumulatorFollowsAWallClockThatRunsFaster(t *testing.T) {
	t.Parallel()
	p := newPair()
	for range 10_000 {
		p.pass(time.Second, time.Second+500*time.Microsecond)
	}
	require.InDelta(t, float64(10_005*time.Second), float64(p.pass(0, 0)), float64(slack))
}

func TestAccumulatorCountsAWildStepNoFurtherThanEveryLockLasts(t *testing.T) {
	t.Parallel()
	p := newPair()
	require.Equal(t, maxJump+time.Second, p.pass(time.Second, 200*365*24*time.Hour))
	require.Equal(t, maxJump+2*time.Second, p.pass(time.Second, time.Second), "and runs on")
}

func TestAccumulatorRunsOnWhenStepsHaveUsedUpItsRange(t *testing.T) {
	t.Parallel()
	p := newPair()
	for range 100 {
		require.GreaterOrEqual(t, p.pass(1, maxJump), time.Duration(0))
		p.pass(0, -maxJump)
	}
	last := p.pass(0, 0)
	require.Greater(t, last, time.Duration(math.MaxInt64/2))
	const century = 100 * 365 * 24 * time.Hour
	now := p.pass(century, century)
	require.Greater(t, now, last)
	require.Equal(t, last+century, now)
}

func TestAccumulatorTakesTheLargerOfTheTwoSteps(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	p := newPair()
	var last time.Duration
	for range 10_000 {
		mono := time.Duration(random.Int64N(int64(time.Minute)))
		wall := mono
		if random.IntN(3) == 0 {
			wall = time.Duration(random.Int64N(int64(48*time.Hour))) - 24*time.Hour
		}
		now := p.pass(mono, wall)
		require.InDelta(t, float64(max(mono, wall)), float64(now-last), float64(slack))
		require.GreaterOrEqual(t, now-last, mono, "slower than the monotonic clock")
		last = now
	}
}
