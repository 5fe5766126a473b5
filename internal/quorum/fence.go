package quorum

import (
	"strconv"
	"time"
)

// SeedLimit is what a seed stays below. In microseconds it lasts until 2112, and
// as far above it again, up to 2^53, a script on a server, which reckons in
// float64, still carries every whole number exactly: a counter that goes on from
// a seed does not run out of them.
const SeedLimit int64 = 1 << 52

// Seed returns the reading of a wall clock in microseconds since 1970, rounded
// down, and whether it can seed a counter: it is above zero and below SeedLimit.
// Where it cannot, the number is 0.
func Seed(wall time.Time) (int64, bool) {
	// By the second first: microseconds of a year far off do not fit an int64, and
	// might come out as a number that looks well.
	if s := wall.Unix(); s < 0 || s > SeedLimit/1_000_000 {
		return 0, false
	}
	seed := wall.UnixMicro()
	if seed <= 0 || seed >= SeedLimit {
		return 0, false
	}
	return seed, true
}

// Stamp is what one node that granted a fenced lock said.
type Stamp struct {
	Counter int64 // the key's counter there, after the grant raised it
	Time    int64 // the node's clock, in microseconds since 1970
	Seeded  bool  // the node took the client's seed into account
}

// Fence returns the fence of an acquisition from the stamps of the nodes, among
// n, that granted it, and whether it is stored already. It leaves the stamps as
// they are, and panics unless 1 ≤ n ≤ MaxNodes and there are stamps of a majority
// of n and of no more than n nodes.
//
// The fence is the largest counter, and unless a majority took the seed at least
// the median of the nodes' clocks besides: nodes that lost their counters then go
// on from a time later than what they forgot. Of three clocks or more, one can
// move the median no further than to the next one's reading. Of an even number it
// is the lower of two, and so of two clocks the slower: one that is far ahead
// moves it no further than the other.
//
// Stored says that a majority holds exactly the fence as its counter. Each later
// majority shares a node with that one, which raises its counter above it, so
// later fences are larger. Where it is not stored the fence may be given to the
// holder only after a majority was made to hold it: a larger counter on fewer
// nodes is not met by every later majority.
//
// Nothing is added up here, so no stamp overflows; one below zero is a number
// like any other.
func Fence(n int, stamps []Stamp) (fence int64, stored bool) {
	checkNodes(n)
	if len(stamps) < Size(n) || len(stamps) > n {
		panic("quorum: " + strconv.Itoa(len(stamps)) + " stamps are not those of a majority of " + strconv.Itoa(n))
	}
	fence = stamps[0].Counter
	seeded := 0
	for _, s := range stamps {
		fence = max(fence, s.Counter)
		if s.Seeded {
			seeded++
		}
	}
	if seeded < Size(n) {
		fence = max(fence, MedianTime(stamps))
	}
	holders := 0
	for _, s := range stamps {
		if s.Counter == fence {
			holders++
		}
	}
	return fence, holders >= Size(n)
}

// MedianTime returns the median of the stamps' times, the lower of two; there must
// be one, and no more than MaxNodes. It sorts by insertion, into an array of its
// own: the stamps stay in the caller's order, nothing allocates, and there are few.
func MedianTime(stamps []Stamp) int64 {
	var sorted [MaxNodes]int64
	for i, s := range stamps {
		for ; i > 0 && sorted[i-1] > s.Time; i-- {
			sorted[i] = sorted[i-1]
		}
		sorted[i] = s.Time
	}
	return sorted[(len(stamps)-1)/2]
}
