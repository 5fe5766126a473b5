package clock_test

import (
	"testing"
	"time"

	"github.com/quorumlock/go-redlock/clock"
)

var clocks = []struct {
	name string
	c    clock.Clock
}{
	{"System", clock.System()},
	{"Monotonic", clock.Monotonic()},
	{"Manual", clock.NewManual(time.Time{})},
}

func BenchmarkNow(b *testing.B) {
	for _, bench := range clocks {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bench.c.Now()
			}
		})
	}
}

func BenchmarkNowParallel(b *testing.B) {
	for _, bench := range clocks {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					bench.c.Now()
				}
			})
		})
	}
}

func BenchmarkAfterFunc(b *testing.B) {
	for _, bench := range clocks {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bench.c.AfterFunc(time.Hour, func() {})()
			}
		})
	}
}
