package quorum_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func FuzzValidity(f *testing.F) {
	f.Fuzz(func(t *testing.T, ttl, elapsed, drift int64) {
		requireValidity(t, time.Duration(ttl), time.Duration(elapsed), time.Duration(drift))
	})
}

func FuzzDrift(f *testing.F) {
	f.Fuzz(func(t *testing.T, ttl int64, rate float64) {
		requireDrift(t, time.Duration(ttl), rate)
	})
}

func FuzzBackoff(f *testing.F) {
	f.Fuzz(func(t *testing.T, low, high int64, r uint64) {
		requireBackoff(t, time.Duration(low), time.Duration(high), r)
	})
}

func FuzzSlot(f *testing.F) {
	f.Fuzz(func(t *testing.T, ttl, at, slot int64) {
		requireSlot(t, time.Duration(ttl))
		requireSlotOf(t, time.Duration(at), time.Duration(slot))
		requireSlotOf(t, time.Duration(at), quorum.Slot(time.Duration(ttl)))
	})
}

func FuzzSeed(f *testing.F) {
	f.Fuzz(func(t *testing.T, seconds, nanoseconds int64) {
		requireSeed(t, time.Unix(seconds, nanoseconds))
	})
}

// FuzzFence reads a stamp from every 17 bytes: counter, time, and whether the
// seed was taken.
func FuzzFence(f *testing.F) {
	const size = 17
	f.Fuzz(func(t *testing.T, n uint8, raw []byte) {
		nodes := int(n)%quorum.MaxNodes + 1
		var stamps []quorum.Stamp
		for ; len(raw) >= size && len(stamps) < nodes; raw = raw[size:] {
			stamps = append(stamps, quorum.Stamp{
				Counter: int64(binary.BigEndian.Uint64(raw)), Time: int64(binary.BigEndian.Uint64(raw[8:])), Seeded: raw[16]&1 == 1,
			})
		}
		if len(stamps) >= majority(nodes) {
			requireFence(t, nodes, stamps)
		}
	})
}
