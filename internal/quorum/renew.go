package quorum

import (
	"math"
	"time"
)

const (
	// narrowSlot and wideSlot are the bounds of a slot, as far as the TTL allows:
	// less would not gather enough renewals, more would not gather many more.
	narrowSlot = 10 * time.Millisecond
	wideSlot   = 50 * time.Millisecond
)

// Slot returns how wide the slots of renewals are for a TTL: a hundredth of it,
// at least 10 ms and at most 50 ms, but never more than a tenth of it, so that a
// renewal which leaves up to a slot early costs little of the TTL. It is 1 ns
// where a tenth is less, and so always above zero.
func Slot(ttl time.Duration) time.Duration {
	slot := min(max(ttl/100, narrowSlot), wideSlot)
	return max(min(slot, ttl/10), 1)
}

// SlotOf returns t rounded down to a multiple of slot, below zero too: what falls
// due within the same slot leaves together, at its start, and so never late.
// Where slot is not above zero it returns t; where the multiple would not fit a
// Duration it returns the least one.
func SlotOf(t, slot time.Duration) time.Duration {
	if slot <= 0 {
		return t
	}
	start := t - t%slot // towards zero, so it fits
	if start <= t {
		return start
	}
	if start < math.MinInt64+slot {
		return math.MinInt64
	}
	return start - slot
}
