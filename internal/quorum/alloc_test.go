package quorum_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// round plays a whole round of n nodes, asked for everything after each vote as
// a caller that waits would, and returns something of all it was told.
func round(n int) int {
	tally, sum := quorum.NewTally(n), 0
	for node := range n {
		tally.Record(node, allVotes[node%len(allVotes)])
		sum += int(tally.Verdict()) + int(tally.Class()) + int(tally.Vote(node)) + len(tally.Class().String())
		sum += tally.Granted() + tally.Refused() + tally.Unknown() + tally.Unsent() + tally.Open()
	}
	tally.Expire()
	return sum + int(tally.Class())
}

// giveBack plays a whole release to n nodes in the same way.
func giveBack(n int) int {
	r, sum := quorum.NewRelease(n), 0
	for node := range n {
		r.SetVoter(node)
		r.Record(node, allAnswers[node%len(allAnswers)], node%2 == 0)
		sum += int(r.Outcome()) + int(r.Final()) + r.Held() + len(r.Outcome().String())
	}
	return sum
}

// stayOn plays a whole extension on n nodes in the same way.
func stayOn(n int) int {
	e, sum := quorum.NewExtension(n), 0
	for node := range n {
		e.SetVoter(node)
		e.Record(node, allConfirmations[node%len(allConfirmations)])
		sum += int(e.Verdict()) + len(e.Verdict().String())
		if e.Proof(e.Missing()) || e.Confirmed(node) {
			sum += int(e.Voters()|e.Gone()|e.Confirmations()) & 1
		}
	}
	e.Expire()
	return sum + int(e.Verdict())
}

// stamped returns the stamps of n nodes of which few took the seed, the clocks
// in the order that costs a sort the most.
func stamped(n int) []quorum.Stamp {
	stamps := make([]quorum.Stamp, n)
	for node := range stamps {
		stamps[node] = quorum.Stamp{Counter: int64(node % 3), Time: int64(n - node), Seeded: node%4 == 0}
	}
	return stamps
}

// pause makes the sums around one attempt.
func pause(r uint64) time.Duration {
	ttl := 10 * time.Second
	return quorum.Validity(ttl, time.Millisecond, quorum.Drift(ttl, 0.01)) +
		quorum.Backoff(50*time.Millisecond, 100*time.Millisecond, r) +
		quorum.SlotOf(time.Duration(r>>1), quorum.Slot(ttl))
}

// Not parallel: testing.AllocsPerRun counts what all goroutines allocate.
func TestNothingAllocates(t *testing.T) {
	var sink int
	stamps, wall := stamped(quorum.MaxNodes), time.Unix(1_785_585_600, 0)
	for name, f := range map[string]func(){
		"round":     func() { sink += round(quorum.MaxNodes) },
		"release":   func() { sink += giveBack(quorum.MaxNodes) },
		"extension": func() { sink += stayOn(quorum.MaxNodes) },
		"times":     func() { sink += int(pause(uint64(sink))) },
		"fence": func() {
			fence, _ := quorum.Fence(quorum.MaxNodes, stamps)
			seed, _ := quorum.Seed(wall)
			sink += int(fence) + int(seed)
		},
	} {
		require.Zero(t, testing.AllocsPerRun(100, f), name)
	}
	require.NotZero(t, sink)
}
