package quorum_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

const (
	earliest = time.Duration(math.MinInt64)
	latest   = time.Duration(math.MaxInt64)
)

// durations returns the corners of a Duration, and of a TTL, and then random ones of
// every magnitude and either sign.
func durations(random *rand.Rand, n int) []time.Duration {
	all := []time.Duration{
		earliest, earliest + 1, -quorum.MaxTTL, -1, 0, 1, quorum.MinTTL,
		10 * time.Second, quorum.MaxTTL, latest - 2*time.Millisecond, latest - 1, latest,
	}
	for range n {
		all = append(all, time.Duration(random.Uint64())>>random.IntN(64))
	}
	return all
}

// requireValidity holds Validity against its definition in numbers without bounds.
func requireValidity(t *testing.T, ttl, elapsed, drift time.Duration) {
	t.Helper()
	want := big.NewInt(int64(ttl))
	for _, spent := range []time.Duration{elapsed, drift} {
		want.Sub(want, big.NewInt(max(0, int64(spent))))
	}
	if want.Sign() < 0 {
		want.SetInt64(0)
	}
	if got := quorum.Validity(ttl, elapsed, drift); !want.IsInt64() || want.Int64() != int64(got) {
		require.Fail(t, "wrong validity", "ttl %d elapsed %d drift %d: %d, want %v", ttl, elapsed, drift, got, want)
	}
}

func TestValidityIsWhatIsLeftOfTheTTL(t *testing.T) {
	t.Parallel()
	require.Equal(t, 9_898*time.Millisecond-5*time.Microsecond,
		quorum.Validity(10*time.Second, 5*time.Microsecond, quorum.Drift(10*time.Second, 0.01)))

	all := durations(rand.New(rand.NewPCG(1, 1)), 40)
	for _, ttl := range all {
		for _, elapsed := range all {
			for _, drift := range all {
				requireValidity(t, ttl, elapsed, drift)
			}
		}
	}
}

// requireDrift holds Drift against its definition in numbers without bounds: it
// is never less, but for the precision of a float64, and not needlessly more.
func requireDrift(t *testing.T, ttl time.Duration, rate float64) {
	t.Helper()
	got := quorum.Drift(ttl, rate)
	exact := new(big.Rat)
	switch {
	case ttl <= 0 || math.IsNaN(rate) || rate <= 0:
	case math.IsInf(rate, 1):
		require.Equal(t, latest, got)
		return
	default:
		exact.SetFloat64(rate)
		exact.Mul(exact, new(big.Rat).SetInt64(int64(ttl)))
	}
	exact.Add(exact, new(big.Rat).SetInt64(int64(2*time.Millisecond)))
	precision := new(big.Rat).Mul(exact, big.NewRat(1, 1<<51))
	least := new(big.Rat).Sub(exact, precision)
	most := new(big.Rat).Add(exact, precision)
	most.Add(most, big.NewRat(1, 1))
	value := new(big.Rat).SetInt64(int64(got))
	if got == latest {
		// Saturated: all that can be asked is that it does not fit.
		value.Set(most)
		if most.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) < 0 {
			require.Fail(t, "saturated without need", "ttl %d rate %v", ttl, rate)
		}
	}
	if value.Cmp(least) < 0 || value.Cmp(most) > 0 {
		require.Fail(t, "wrong drift", "ttl %d rate %v: %d, want %v", ttl, rate, got, exact.FloatString(3))
	}
}

var rates = []float64{
	0, 1e-300, 1e-9, 0.01, 0.16, 1.0 / 3, 1, 2, 1e9, math.MaxFloat64, math.SmallestNonzeroFloat64,
	-1, -0.01, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1),
}

func TestDriftIsTheShareOfTheTTLAndTwoMilliseconds(t *testing.T) {
	t.Parallel()
	require.Equal(t, 102*time.Millisecond, quorum.Drift(10*time.Second, 0.01))
	require.Equal(t, 2*time.Millisecond+1, quorum.Drift(1, 0.01), "rounded up")
	require.Equal(t, 2*time.Millisecond, quorum.Drift(time.Hour, math.NaN()))
	require.Equal(t, latest, quorum.Drift(latest, 1))
	require.Equal(t, latest, quorum.Drift(time.Hour, math.Inf(1)))

	random := rand.New(rand.NewPCG(1, 2))
	for _, ttl := range durations(random, 200) {
		for _, rate := range rates {
			requireDrift(t, ttl, rate)
		}
		for range 20 {
			requireDrift(t, ttl, math.Float64frombits(random.Uint64()))
			requireDrift(t, ttl, random.Float64())
		}
	}
}

// requireBackoff holds Backoff against its definition in numbers without bounds:
// low + floor(r × (high − low + 1) / 2^64).
func requireBackoff(t *testing.T, low, high time.Duration, r uint64) {
	t.Helper()
	want := big.NewInt(int64(low))
	if high > low {
		choices := new(big.Int).Sub(big.NewInt(int64(high)), want)
		choices.Add(choices, big.NewInt(1))
		choices.Mul(choices, new(big.Int).SetUint64(r))
		want.Add(want, choices.Rsh(choices, 64))
	}
	got := quorum.Backoff(low, high, r)
	if !want.IsInt64() || want.Int64() != int64(got) || got < low || got > max(low, high) {
		require.Fail(t, "wrong pause", "low %d high %d r %d: %d, want %v", low, high, r, got, want)
	}
}

func TestBackoffIsWithinItsBounds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 3))
	all := durations(random, 60)
	for _, low := range all {
		for _, high := range all {
			for _, r := range []uint64{0, 1, 1 << 63, math.MaxUint64, random.Uint64()} {
				requireBackoff(t, low, high, r)
			}
		}
	}
}

func TestBackoffReachesBothBoundsAndAllBetweenAlike(t *testing.T) {
	t.Parallel()
	const low, high, draws = 50, 59, 10_000
	require.EqualValues(t, low, quorum.Backoff(low, high, 0))
	require.EqualValues(t, high, quorum.Backoff(low, high, math.MaxUint64))
	require.EqualValues(t, low, quorum.Backoff(low, low, math.MaxUint64))
	require.EqualValues(t, high, quorum.Backoff(high, low, 7), "no range: the first bound")

	counts := make([]int, high-low+1)
	for i := range uint64(draws) {
		counts[quorum.Backoff(low, high, i*(math.MaxUint64/draws))-low]++
	}
	require.InDelta(t, draws/len(counts), slices.Min(counts), 1)
	require.InDelta(t, draws/len(counts), slices.Max(counts), 1)
}

func TestLongestTTLLeavesRoomForSums(t *testing.T) {
	t.Parallel()
	const clock = 250 * 365 * 24 * time.Hour
	sum := quorum.MaxTTL + quorum.Drift(quorum.MaxTTL, 1)
	require.Less(t, sum, latest-clock)
	require.Less(t, quorum.MaxTTL.Milliseconds(), int64(1)<<53)
	require.Equal(t, time.Millisecond, quorum.MinTTL)
	require.Zero(t, quorum.MaxTTL%time.Millisecond, "a whole number of milliseconds")
}
