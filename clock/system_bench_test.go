package clock

import (
	"testing"
	"time"
)

func BenchmarkSystemAddingUp(b *testing.B) {
	c := newSystem(packageTime(), func() (time.Duration, bool) { return 0, false })
	b.ReportAllocs()
	for b.Loop() {
		c.Now()
	}
}

func BenchmarkSystemAskingTheKernel(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		boottime()
	}
}
