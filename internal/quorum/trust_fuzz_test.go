package quorum_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// FuzzTrust holds the two steps by which a lock comes to its validity against the one sentence that they are for: a lock is
// trusted for its TTL less the time since it was asked for, less the part of the TTL by which clocks may differ, less 2 ms; and
// never for less than nothing. What does not fit an int64 on the way must not come out as trust.
func FuzzTrust(f *testing.F) {
	f.Fuzz(func(t *testing.T, ttl, elapsed int64, rate float64) {
		drift := quorum.Drift(time.Duration(ttl), rate)
		left := quorum.Validity(time.Duration(ttl), time.Duration(elapsed), drift)
		require.GreaterOrEqual(t, left, time.Duration(0))
		require.LessOrEqual(t, left, max(0, time.Duration(ttl)))
		require.Zero(t, quorum.Validity(time.Duration(ttl), latest, drift), "nothing lasts for ever")
		if left == 0 {
			return
		}
		require.False(t, math.IsInf(rate, 1), "no trust where clocks may differ by anything")
		loss := new(big.Rat)
		if rate > 0 { // which a NaN is not
			loss.SetFloat64(rate)
			loss.Mul(loss, big.NewRat(ttl, 1))
		}
		loss.Add(loss, big.NewRat(int64(2*time.Millisecond), 1))
		loss.Sub(loss, new(big.Rat).Mul(loss, big.NewRat(1, 1<<51))) // as exact as a float64 is
		loss.Add(loss, big.NewRat(max(0, elapsed), 1))
		most := new(big.Rat).Sub(big.NewRat(ttl, 1), loss)
		if big.NewRat(int64(left), 1).Cmp(most) > 0 {
			require.Fail(t, "trusted for too long", "ttl %d elapsed %d rate %v: %d, want at most %v", ttl, elapsed, rate, left, most.FloatString(3))
		}
		if elapsed > 0 && elapsed < math.MaxInt64 {
			require.Less(t, quorum.Validity(time.Duration(ttl), time.Duration(elapsed+1), drift), left, "it runs out with the time")
		}
	})
}
