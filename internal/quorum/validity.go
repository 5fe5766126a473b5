package quorum

import (
	"math"
	"math/bits"
	"time"
)

const (
	// MinTTL is the shortest TTL of a lock: servers count in milliseconds, and to
	// some commands a TTL of zero means "delete" or "never".
	MinTTL = time.Millisecond

	// MaxTTL is the longest TTL of a lock, ten years. A time.Duration ends at 292
	// years, so that a clock which has run for two and a half centuries, a TTL and
	// its drift (at any rate up to 1) can be added without a check; and its
	// milliseconds stay far below 2^53, so that a script on a server, which reckons
	// in float64, carries them exactly.
	MaxTTL = 10 * 365 * 24 * time.Hour
)

// driftFloor covers what does not grow with the TTL: servers expire keys to the
// millisecond, and a reading of a clock may be rounded by another.
const driftFloor = 2 * time.Millisecond

// Drift returns what a TTL may be worth less by the holder's clock, if the clocks
// of holder and node differ in rate by rate: ttl × rate + 2 ms, the product
// rounded up as float64 allows. It is the longest duration where that does not
// fit; a ttl or rate that is not above zero adds nothing to the 2 ms.
func Drift(ttl time.Duration, rate float64) time.Duration {
	if ttl <= 0 || !(rate > 0) { // the negation catches NaN
		return driftFloor
	}
	d := math.Ceil(float64(ttl) * rate)
	// The bound rounds up to 2^63 as a float64, so that "below" means that d fits
	// an int64; the sum is checked apart.
	if d >= math.MaxInt64 || time.Duration(d) > math.MaxInt64-driftFloor {
		return math.MaxInt64
	}
	return time.Duration(d) + driftFloor
}

// Validity returns for how long a lock may be trusted when elapsed has passed
// since its first request was sent: ttl − elapsed − drift, and never less than
// zero. A negative elapsed or drift counts as zero, so validity never exceeds the
// ttl; no input overflows.
func Validity(ttl, elapsed, drift time.Duration) time.Duration {
	left := ttl
	for _, d := range [...]time.Duration{elapsed, drift} {
		if d >= left {
			return 0
		}
		left -= max(d, 0)
	}
	return max(left, 0)
}

// Backoff returns a pause between low and high, both included, made from the 64
// random bits r: uniform if they are. It rises with r, from low at 0 to high at
// the largest r, and is low where high is not above it; no input overflows.
func Backoff(low, high time.Duration, r uint64) time.Duration {
	if high <= low {
		return low
	}
	// Unsigned arithmetic wraps, so width is right even where high − low does not
	// fit a Duration, and so is the sum.
	width := uint64(high) - uint64(low)
	if width == math.MaxUint64 {
		return time.Duration(uint64(low) + r)
	}
	offset, _ := bits.Mul64(r, width+1)
	return time.Duration(uint64(low) + offset)
}
