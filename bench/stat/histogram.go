// Package stat reduces what a run measured: a histogram of durations that many
// goroutines fill without allocating, and the median of paired rounds.
package stat

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	subBits = 8 // 256 steps in every doubling: a quantile is off by 0.2 % at most
	subs    = 1 << subBits
	topBits = 40 // 2^40 ns, 18 minutes; longer durations are counted as that
	buckets = (topBits - subBits + 1) * subs
)

// Histogram counts durations. The zero value is empty and ready. Record may be
// called from several goroutines; Quantile and Count only while nobody records.
type Histogram struct {
	counts [buckets]atomic.Uint64
}

// Record counts d once. It does not allocate. A negative d counts as zero.
func (h *Histogram) Record(d time.Duration) {
	h.counts[bucketOf(d)].Add(1)
}

// Count returns how many durations have been recorded.
func (h *Histogram) Count() uint64 {
	var n uint64
	for i := range h.counts {
		n += h.counts[i].Load()
	}
	return n
}

// Quantile returns the duration below or at which a share q of the recorded ones
// lies, within 0.2 %; q is cut to [0, 1]. An empty histogram answers zero.
func (h *Histogram) Quantile(q float64) time.Duration {
	total := h.Count()
	if total == 0 {
		return 0
	}
	rank := uint64(min(max(q, 0), 1) * float64(total))
	rank = min(rank, total-1)
	var seen uint64
	for i := range h.counts {
		seen += h.counts[i].Load()
		if seen > rank {
			return middleOf(i)
		}
	}
	panic("stat: counts fell while they were summed") // Quantile ran beside Record
}

func bucketOf(d time.Duration) int {
	v := uint64(min(max(d, 0), 1<<topBits-1))
	if v < subs {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - subBits
	return (shift+1)*subs + int(v>>shift) - subs
}

func middleOf(bucket int) time.Duration {
	if bucket < 2*subs {
		return time.Duration(bucket) // one nanosecond wide
	}
	shift := bucket/subs - 1
	low := uint64(bucket%subs+subs) << shift
	return time.Duration(low + 1<<shift/2)
}
