package quorum_test

import (
	"fmt"
	"testing"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

var sizes = []int{1, 5, quorum.MaxNodes}

func BenchmarkTally(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tally := quorum.NewTally(n)
				for node := 0; tally.Verdict() == quorum.VerdictOpen; node++ {
					tally.Record(node, quorum.Granted)
				}
			}
		})
	}
}

// BenchmarkRound asks for everything after each vote.
func BenchmarkRound(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				round(n)
			}
		})
	}
}

func BenchmarkRelease(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				giveBack(n)
			}
		})
	}
}

func BenchmarkExtension(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				stayOn(n)
			}
		})
	}
}

func BenchmarkFence(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			stamps := stamped(n)
			b.ReportAllocs()
			for b.Loop() {
				quorum.Fence(n, stamps)
			}
		})
	}
}

func BenchmarkTimes(b *testing.B) {
	b.ReportAllocs()
	for r := uint64(0); b.Loop(); r += 1 << 40 {
		pause(r)
	}
}
