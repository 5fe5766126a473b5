package stat_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/stat"
)

func TestQuantileIsWithinAHalfPercentOfTheSortedOne(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, top := range []int64{100, 5_000, int64(time.Millisecond), int64(time.Minute)} {
		var h stat.Histogram
		values := make([]time.Duration, 10_000)
		for i := range values {
			values[i] = time.Duration(random.Int64N(top))
			h.Record(values[i])
		}
		slices.Sort(values)
		for _, q := range []float64{0, 0.01, 0.5, 0.99, 1} {
			rank := min(int(q*float64(len(values))), len(values)-1)
			require.InDelta(t, float64(values[rank]), float64(h.Quantile(q)), 0.005*float64(values[rank]),
				"q %v of values below %v", q, time.Duration(top))
		}
	}
}

func TestHistogramTakesEveryDuration(t *testing.T) {
	t.Parallel()
	var h stat.Histogram
	require.Zero(t, h.Quantile(0.5), "an empty histogram")
	h.Record(-time.Second)
	require.Zero(t, h.Quantile(1), "a negative duration")
	h.Record(1 << 62)
	require.Greater(t, h.Quantile(1), 18*time.Minute, "more than the range")
	require.EqualValues(t, 2, h.Count())
}

func TestHistogramLosesNothingToConcurrencyAndAllocatesNothing(t *testing.T) {
	var h stat.Histogram
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for i := range 10_000 {
				h.Record(time.Duration(i) * time.Microsecond)
			}
		})
	}
	writers.Wait()
	require.EqualValues(t, 80_000, h.Count())
	require.Zero(t, testing.AllocsPerRun(100, func() { h.Record(time.Millisecond) }))
}

func TestSpreadIsMedianLeastAndMost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		values []float64
		want   stat.Spread
	}{
		{"one", []float64{7}, stat.Spread{Median: 7, Least: 7, Most: 7}},
		{"odd", []float64{9, 1, 5}, stat.Spread{Median: 5, Least: 1, Most: 9}},
		{"even", []float64{4, 1, 3, 2}, stat.Spread{Median: 2.5, Least: 1, Most: 4}},
		{"an outlier", []float64{1, 1, 1, 1, 1000}, stat.Spread{Median: 1, Least: 1, Most: 1000}},
	} {
		before := slices.Clone(c.values)
		got, err := stat.SpreadOf(c.values)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
		require.Equal(t, before, c.values, "%s: the order of the rounds", c.name)
	}
	_, err := stat.SpreadOf(nil)
	require.ErrorIs(t, err, stat.ErrNoValues)
}

func TestRatiosPairTheRounds(t *testing.T) {
	t.Parallel()
	got, err := stat.Ratios([]float64{10, 30, 5}, []float64{1, 10, 5})
	require.NoError(t, err)
	require.Equal(t, []float64{10, 3, 1}, got)
	// The ratio of the medians would be 2: pairing is what takes a slow round out.
	spread, err := stat.SpreadOf(got)
	require.NoError(t, err)
	require.InDelta(t, 3, spread.Median, 0)
}

func TestRatiosRefuseWhatCannotBeCompared(t *testing.T) {
	t.Parallel()
	_, err := stat.Ratios([]float64{1, 2}, []float64{1})
	require.ErrorContains(t, err, "2 rounds over 1")
	_, err = stat.Ratios([]float64{1, 2}, []float64{1, 0})
	require.ErrorContains(t, err, "round 2 divides by zero")
}
