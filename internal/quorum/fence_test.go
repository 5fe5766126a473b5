package quorum_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// fenceByDefinition is Fence in the words of its rules: counters above the fence
// there are none, and half of the clocks, or one more, are not above the median.
func fenceByDefinition(n int, stamps []quorum.Stamp) (fence int64, stored bool) {
	var counters, times []int64
	seeded := 0
	for _, s := range stamps {
		counters = append(counters, s.Counter)
		times = append(times, s.Time)
		if s.Seeded {
			seeded++
		}
	}
	fence = slices.Max(counters)
	if seeded < majority(n) {
		slices.Sort(times)
		for len(times) > 2 {
			times = times[1 : len(times)-1]
		}
		fence = max(fence, times[0])
	}
	returned := slices.DeleteFunc(counters, func(c int64) bool { return c != fence })
	return fence, len(returned) >= majority(n)
}

// requireFence holds Fence against its definition, with the stamps in this order
// and in another, and left as they are.
func requireFence(t *testing.T, n int, stamps []quorum.Stamp) {
	t.Helper()
	given := slices.Clone(stamps)
	wantFence, wantStored := fenceByDefinition(n, stamps)
	for range 2 {
		fence, stored := quorum.Fence(n, given)
		if fence != wantFence || stored != wantStored {
			require.Fail(t, "wrong fence", "%d nodes %+v: %d, %v; want %d, %v", n, given, fence, stored, wantFence, wantStored)
		}
		if !slices.Equal(stamps, given) {
			require.Fail(t, "the stamps were touched", "%+v, were %+v", given, stamps)
		}
		slices.Reverse(given)
		slices.Reverse(stamps)
	}
}

// eachOf calls visit with every list of n of these choices.
func eachOf[T any](choices []T, n int, visit func([]T)) {
	list := make([]T, n)
	var fill func(at int)
	fill = func(at int) {
		if at == n {
			visit(list)
			return
		}
		for _, c := range choices {
			list[at] = c
			fill(at + 1)
		}
	}
	fill(0)
}

func TestEveryFenceOfFewStampsIsAsDefined(t *testing.T) {
	t.Parallel()
	var all []quorum.Stamp
	for _, seeded := range [...]bool{false, true} {
		for counter := range int64(3) {
			for clock := range int64(4) {
				all = append(all, quorum.Stamp{Counter: counter, Time: clock, Seeded: seeded})
			}
		}
	}
	for n := 1; n <= 5; n++ {
		for k := majority(n); k <= min(n, 3); k++ {
			eachOf(all, k, func(stamps []quorum.Stamp) { requireFence(t, n, stamps) })
		}
	}
}

func TestRandomFencesAreAsDefined(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 4))
	for range 20_000 {
		n := 1 + random.IntN(quorum.MaxNodes)
		stamps := make([]quorum.Stamp, majority(n)+random.IntN(n-majority(n)+1))
		// Few values meet each other often; the rest are of every magnitude.
		wide := random.IntN(64)
		for i := range stamps {
			stamps[i] = quorum.Stamp{
				Counter: int64(random.Uint64()) >> wide, Time: int64(random.Uint64()) >> wide, Seeded: random.IntN(2) == 0,
			}
		}
		requireFence(t, n, stamps)
	}
}

// medianOf returns the fence of stamps that leaves all to the clocks.
func medianOf(clocks []int64) int64 {
	stamps := make([]quorum.Stamp, len(clocks))
	for i, c := range clocks {
		stamps[i] = quorum.Stamp{Counter: math.MinInt64, Time: c}
	}
	fence, _ := quorum.Fence(len(stamps), stamps)
	return fence
}

// However one clock is changed, the median stays within the readings next to it,
// and between two readings of the others; of two clocks, it stays not above the
// other. Tried with every clock of every set of few readings, and every place
// among them that the changed one can take.
func TestOneMadClockMovesTheMedianNoFurtherThanToANeighbour(t *testing.T) {
	t.Parallel()
	readings := []int64{0, 10, 20, 30}
	mad := []int64{math.MinInt64, -1, 0, 5, 10, 15, 20, 25, 30, 31, math.MaxInt64}
	moved := 0
	for n := 2; n <= 6; n++ {
		eachOf(readings, n, func(clocks []int64) {
			before := medianOf(clocks)
			sorted := slices.Sorted(slices.Values(clocks))
			at := (n - 1) / 2
			for node := range clocks {
				own := slices.Index(sorted, clocks[node])
				others := slices.Delete(slices.Clone(sorted), own, own+1)
				for _, reading := range mad {
					changed := slices.Clone(clocks)
					changed[node] = reading
					after := medianOf(changed)
					if after != before {
						moved++
					}
					ok := after <= others[at] && after <= sorted[at+1]
					if n > 2 {
						ok = ok && after >= others[at-1] && after >= sorted[at-1]
					}
					if !ok {
						require.Fail(t, "one clock moved the median too far", "%v, then %v: %d, then %d", clocks, changed, before, after)
					}
				}
			}
		})
	}
	require.NotZero(t, moved)
}

func TestClocksCountUnlessAMajorityTookTheSeed(t *testing.T) {
	t.Parallel()
	stamps := []quorum.Stamp{
		{Counter: 70, Time: 100, Seeded: true}, {Counter: 70, Time: 101, Seeded: true}, {Counter: 4, Time: 102}, {Counter: 9, Time: 103},
	}
	fence, stored := quorum.Fence(5, stamps)
	require.EqualValues(t, 101, fence, "the lower median")
	require.False(t, stored)

	stamps[3] = quorum.Stamp{Counter: 70, Time: 103, Seeded: true}
	fence, stored = quorum.Fence(5, stamps)
	require.EqualValues(t, 70, fence, "three of five took the seed")
	require.True(t, stored, "and returned the same counter")

	stamps[1].Counter++
	fence, stored = quorum.Fence(5, stamps)
	require.EqualValues(t, 71, fence)
	require.False(t, stored, "one node alone has it")
}

func TestSeedIsTheWallClockInMicroseconds(t *testing.T) {
	t.Parallel()
	limit := time.UnixMicro(quorum.SeedLimit)
	require.Equal(t, 2112, limit.UTC().Year())
	require.Equal(t, quorum.SeedLimit-1, int64(float64(quorum.SeedLimit-1)), "exact in a float64")
	for name, c := range map[string]struct {
		wall time.Time
		want int64 // 0: none
	}{
		"today":                     {time.Date(2026, 8, 1, 12, 0, 0, 123_456_789, time.UTC), 1_785_585_600_123_456},
		"elsewhere":                 {time.Date(2026, 8, 1, 14, 0, 0, 0, time.FixedZone("", 7200)), 1_785_585_600_000_000},
		"first":                     {time.Unix(0, 1000), 1},
		"first, rounded down":       {time.Unix(0, 1999), 1},
		"1970":                      {time.Unix(0, 0), 0},
		"less than a microsecond":   {time.Unix(0, 999), 0},
		"before 1970":               {time.Unix(0, -1), 0},
		"no time":                   {time.Time{}, 0},
		"last":                      {limit.Add(-1), quorum.SeedLimit - 1},
		"limit":                     {limit, 0},
		"a second over":             {limit.Add(time.Second), 0},
		"microseconds that wrapped": {time.Unix(1<<60, 0), 0},
		"latest":                    {time.Unix(math.MaxInt64, 999_999_999), 0},
		"earliest":                  {time.Unix(math.MinInt64, 0), 0},
	} {
		requireSeed(t, c.wall)
		seed, ok := quorum.Seed(c.wall)
		require.Equal(t, c.want, seed, name)
		require.Equal(t, c.want != 0, ok, name)
	}
}

// requireSeed holds Seed against its definition, without microseconds that wrap:
// a time is in bounds, and the seed is the last microsecond that is not after it.
func requireSeed(t *testing.T, wall time.Time) {
	t.Helper()
	seed, ok := quorum.Seed(wall)
	if want := !wall.Before(time.UnixMicro(1)) && wall.Before(time.UnixMicro(quorum.SeedLimit)); ok != want {
		require.Fail(t, "wrong bounds", "%v: %d, %v", wall, seed, ok)
	}
	if !ok && seed != 0 || ok && (wall.Before(time.UnixMicro(seed)) || !wall.Before(time.UnixMicro(seed+1))) {
		require.Fail(t, "wrong seed", "%v: %d, %v", wall, seed, ok)
	}
}
