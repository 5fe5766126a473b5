package quorum_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// ending is how the round ends if every open node votes v, and its time is not up before.
func (w walk) ending(v quorum.Vote) (quorum.Verdict, quorum.Class) {
	past := w.past
	for range w.tally.Open() {
		past = past.with(v)
	}
	return past.end()
}

// requireSaid holds what the tally says against the ends that the round can still come to: what is said is what comes true in
// all of them, and nothing is left open that is the same in all. Of those ends three are enough: with every open vote granted
// or refused the round is as near to each side as it can come, and with every one missing it is at neither.
func (w walk) requireSaid(t *testing.T) {
	t.Helper()
	verdict, class := w.tally.Verdict(), w.tally.Class()
	verdicts, classes := make(map[quorum.Verdict]bool), make(map[quorum.Class]bool)
	for _, v := range []quorum.Vote{quorum.Granted, quorum.Refused, quorum.Unknown} {
		ends, why := w.ending(v)
		verdicts[ends], classes[why] = true, true
	}
	if verdict == quorum.VerdictOpen {
		require.Len(t, verdicts, 2, "an open verdict can go either way: %+v", w)
	} else {
		require.Equal(t, map[quorum.Verdict]bool{verdict: true}, verdicts, "%+v", w)
	}
	switch {
	case class != quorum.ClassOpen:
		require.Equal(t, quorum.Lost, verdict, "%+v", w)
		require.Equal(t, map[quorum.Class]bool{class: true}, classes, "%+v", w)
	case verdict == quorum.Lost:
		require.Greater(t, len(classes), 1, "an open class can still be another: %+v", w)
	}
}

// FuzzTally plays a round of up to MaxNodes nodes, where the exhaustive tests end at five. Each byte is a vote: by its lowest
// two bits which, by the others whose among the nodes that have not voted; 255 is the end of time.
func FuzzTally(f *testing.F) {
	const over = 255
	f.Fuzz(func(t *testing.T, n uint8, raw []byte) {
		w := newWalk(int(n)%quorum.MaxNodes + 1)
		var open []int
		for node := range w.tally.N() {
			open = append(open, node)
		}
		var err error
		for _, b := range raw {
			w.requireSaid(t)
			if len(open) == 0 {
				break
			}
			if b == over {
				w, err = w.expire()
				require.NoError(t, err)
				continue
			}
			i, v := int(b)/len(allVotes)%len(open), allVotes[int(b)%len(allVotes)]
			w, err = w.vote(open[i], v)
			require.NoError(t, err)
			require.False(t, w.tally.Record(open[i], quorum.Granted), "a second vote does not count")
			require.Equal(t, v, w.tally.Vote(open[i]))
			open = append(open[:i], open[i+1:]...)
		}
		for _, node := range open {
			w.requireSaid(t)
			w, err = w.vote(node, quorum.Unsent)
			require.NoError(t, err)
		}
		verdict, class := w.past.end()
		require.Equal(t, verdict, w.tally.Verdict(), "%+v", w)
		require.Equal(t, class, w.tally.Class(), "%+v", w)
	})
}
