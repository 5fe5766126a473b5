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

// pause makes the sums around one attempt.
func pause(r uint64) time.Duration {
	ttl := 10 * time.Second
	return quorum.Validity(ttl, time.Millisecond, quorum.Drift(ttl, 0.01)) +
		quorum.Backoff(50*time.Millisecond, 100*time.Millisecond, r)
}

// Not parallel: testing.AllocsPerRun counts what all goroutines allocate.
func TestNothingAllocates(t *testing.T) {
	var sink int
	for name, f := range map[string]func(){
		"round":   func() { sink += round(quorum.MaxNodes) },
		"release": func() { sink += giveBack(quorum.MaxNodes) },
		"times":   func() { sink += int(pause(uint64(sink))) },
	} {
		require.Zero(t, testing.AllocsPerRun(100, f), name)
	}
	require.NotZero(t, sink)
}
