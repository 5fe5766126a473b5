package quorum_test

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestSlotIsAHundredthOfTheTTLWithinItsBounds(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]time.Duration{
		quorum.MaxTTL:          50 * time.Millisecond,
		10 * time.Second:       50 * time.Millisecond,
		5 * time.Second:        50 * time.Millisecond,
		3 * time.Second:        30 * time.Millisecond,
		time.Second:            10 * time.Millisecond,
		500 * time.Millisecond: 10 * time.Millisecond,
		100 * time.Millisecond: 10 * time.Millisecond,
		99 * time.Millisecond:  9900 * time.Microsecond,
		quorum.MinTTL:          100 * time.Microsecond,
		11:                     1,
		9:                      1,
		0:                      1,
		-time.Second:           1,
		latest:                 50 * time.Millisecond,
		earliest:               1,
	} {
		require.Equal(t, want, quorum.Slot(ttl), "ttl %v", ttl)
	}
	for _, ttl := range durations(rand.New(rand.NewPCG(1, 5)), 1000) {
		requireSlot(t, ttl)
	}
}

// requireSlot holds Slot against the bounds that define it: it keeps those that
// come last, and all others where those leave it room.
func requireSlot(t *testing.T, ttl time.Duration) {
	t.Helper()
	slot := quorum.Slot(ttl)
	hundredth, tenth := ttl/100, ttl/10
	var ok bool
	switch {
	case tenth < 1:
		ok = slot == 1
	case tenth < 10*time.Millisecond:
		ok = slot == tenth
	case hundredth < 10*time.Millisecond:
		ok = slot == 10*time.Millisecond
	case hundredth > 50*time.Millisecond:
		ok = slot == 50*time.Millisecond
	default:
		ok = slot == hundredth
	}
	if !ok {
		require.Fail(t, "wrong slot", "ttl %d: %d", ttl, slot)
	}
}

// requireSlotOf holds SlotOf against its definition in numbers without bounds:
// the largest multiple that is not above t, where it fits.
func requireSlotOf(t *testing.T, at, slot time.Duration) {
	t.Helper()
	want := big.NewInt(int64(at))
	if slot > 0 {
		// Div rounds down, for a divisor above zero.
		want.Div(want, big.NewInt(int64(slot)))
		want.Mul(want, big.NewInt(int64(slot)))
	}
	if !want.IsInt64() {
		want.SetInt64(int64(earliest))
	}
	if got := quorum.SlotOf(at, slot); int64(got) != want.Int64() {
		require.Fail(t, "wrong start of a slot", "%d in slots of %d: %d, want %v", at, slot, got, want)
	}
}

func TestSlotOfRoundsDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ t, slot, want time.Duration }{
		{0, 50, 0},
		{49, 50, 0},
		{50, 50, 50},
		{99, 50, 50},
		{-1, 50, -50},
		{-50, 50, -50},
		{-51, 50, -100},
		{7, 1, 7},
		{7, 0, 7},
		{7, -50, 7},
		{earliest, 1, earliest},
		{earliest, 3, earliest},
		{earliest + 1, latest, earliest + 1},
		{-1, latest, -latest},
	} {
		require.Equal(t, c.want, quorum.SlotOf(c.t, c.slot), "%d in slots of %d", c.t, c.slot)
	}
	all := durations(rand.New(rand.NewPCG(1, 6)), 300)
	for _, at := range all {
		for _, slot := range all {
			requireSlotOf(t, at, slot)
		}
	}
}

func TestRenewalsOfOneSlotLeaveTogetherAndNeverLate(t *testing.T) {
	t.Parallel()
	slot := quorum.Slot(10 * time.Second)
	starts := map[time.Duration]int{}
	for due := -time.Second; due < time.Second; due += time.Millisecond {
		start := quorum.SlotOf(due, slot)
		require.LessOrEqual(t, start, due)
		require.Less(t, due-start, slot)
		starts[start]++
	}
	require.Len(t, starts, 40)
	for start, renewals := range starts {
		require.Equal(t, 50, renewals, "slot %v", start)
	}
}
