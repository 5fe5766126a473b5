package quorum_test

import (
	"testing"
	"time"
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
