package node

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// stamped is what a reply to a fenced SET comes to.
type stamped struct {
	reply
	vote  quorum.Vote
	cause error // nil: none
	stamp quorum.Stamp
}

func stamps() map[string]stamped {
	list := func(of ...any) reply { return value(of) }
	n := func(of ...int64) reply {
		out := make([]any, len(of))
		for i, v := range of {
			out[i] = v
		}
		return value(out)
	}
	const said = replyError("WRONGTYPE")
	return map[string]stamped{
		"a stamp with the seed":     {n(1, 9, 5, 1), quorum.Granted, nil, quorum.Stamp{Counter: 9, Time: 5, Seeded: true}},
		"a stamp without the seed":  {n(1, 9, 5, 0), quorum.Granted, nil, quorum.Stamp{Counter: 9, Time: 5}},
		"of 16 digits":              {n(1, digits16, digits16+1, 1), quorum.Granted, nil, quorum.Stamp{Counter: digits16, Time: digits16 + 1, Seeded: true}},
		"zero":                      {no, quorum.Refused, nil, quorum.Stamp{}},
		"no counter":                {list(int64(1), string(said)), quorum.Unknown, said, quorum.Stamp{}},
		"one alone":                 {yes, quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a counter of zero":         {n(1, 0, 5, 1), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a counter below zero":      {n(1, -9, 5, 1), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"the least counter":         {n(1, math.MinInt64, 5, 1), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a counter that is text":    {list(int64(1), "9", int64(5), int64(1)), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a time that is text":       {list(int64(1), int64(9), "5", int64(1)), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a seed that is neither":    {n(1, 9, 5, 2), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a seed below zero":         {n(1, 9, 5, -1), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"not granted, with a stamp": {n(0, 9, 5, 1), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a list of three":           {n(1, 9, 5), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a list of five":            {n(1, 9, 5, 1, 1), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a list of two numbers":     {n(1, 9), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a list of zero and a text": {list(int64(0), "no"), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a list of one":             {n(1), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"an empty list":             {list(), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a list with nothing":       {list(int64(1), nil, int64(5), int64(1)), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a list in a list":          {list(int64(1), []any{int64(9)}, int64(5), int64(1)), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"OK":                        {granted, quorum.Unknown, ErrShape, quorum.Stamp{}},
		"the nil reply":             {refused, quorum.Unknown, ErrShape, quorum.Stamp{}},
		"nothing":                   {value(nil), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"an error":                  {readOnly, quorum.Unknown, errReadOnly, quorum.Stamp{}},
		"a number with a fraction":  {list(int64(1), 9.5, int64(5), int64(1)), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"a yes that is a text":      {list("1", int64(9), int64(5), int64(1)), quorum.Unknown, ErrShape, quorum.Stamp{}},
		"minus one":                 {value(int64(-1)), quorum.Refused, nil, quorum.Stamp{}},
		"minus two, of one key":     {value(int64(-2)), quorum.Unknown, ErrShape, quorum.Stamp{}},
	}
}

func TestAFencedGrantCountsWithAWholeStampOnly(t *testing.T) {
	t.Parallel()
	for name, tt := range stamps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.fencedBid("1", "k")
				r.askFor(b, patience)
				r.expect(0, "acquire k,~f:k 1").end(nil, tt.reply)
				got := b.vote(0)
				require.Equal(t, tt.vote, got.Vote)
				if tt.cause == nil {
					require.NoError(t, got.cause)
				} else {
					require.EqualError(t, got.cause, tt.cause.Error())
				}
				require.Equal(t, tt.stamp, b.Fencing.Stamps[0])
			})
		})
	}
}

// The keys are there: what they come to does not depend on what the counter was.
func TestAGrantWithoutACounterIsReleasedLikeAnyGrant(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.fencedBid("1", "k")
		r.askFor(b, patience)
		r.expect(0, "acquire k,~f:k 1").end(nil, value([]any{int64(1), "WRONGTYPE"}))
		b.vote(0)
		b.release()
		r.expect(0, "release k 1").end(errReset, silent)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		r.requireDebts(1)
		r.expect(0, "release k 1").end(nil, deleted)
		r.requireDebts(0)
	})
}

func TestAGrantWithAStampOfNoShapeIsOfUnknownFate(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.fencedBid("1", "k")
		r.askFor(b, patience)
		r.expect(0, "acquire k,~f:k 1").end(nil, yes)
		b.vote(0)
		b.release()
		r.expect(0, "release k 1").end(nil, deleted)
		b.requireAnswer(0, 1, quorum.Deleted, true)
		r.requireDebts(1)
	})
}

func TestEachNodesStampIsItsOwn(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, r *rig) {
		b := r.fencedBid("1", "a", "b")
		r.askFor(b, patience)
		for i := range 2 {
			n := int64(i + 1)
			r.expect(i, "acquire a,b,~f:a,~f:b 1").end(nil, value([]any{int64(1), n, 10 * n, int64(0)}))
			b.requireVote(i, quorum.Granted, nil)
		}
		require.Equal(t, []quorum.Stamp{{Counter: 1, Time: 10}, {Counter: 2, Time: 20}}, b.Fencing.Stamps)
	})
}

func TestWhatAFencedAttemptTellsTheNodes(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.fencedBid("1", "a", "b")
		keys, all := []any{"a", "b"}, []any{"a", "b", "~f:a", "~f:b"}
		millis := ttl.Milliseconds()
		require.Equal(t, acquireScript.args(all, "1", millis, 2, int64(7), int64(3_600_000)), b.setArgs())
		require.Equal(t, raiseScript.args(all, "1", int64(9), int64(3_600_000)), b.raiseArgs(9))
		require.Equal(t, extendScript.args(keys, "1", millis, int64(3_600_000), int64(0), "~f:a", "~f:b"), b.extendArgs(0))
		require.Equal(t, repairScript.args(keys, "1", millis, int64(9), int64(3_600_000), "~f:a", "~f:b"), b.repairArgs(9))
		require.Equal(t, releaseScript.args(keys, "1"), b.giveUpArgs(0))
		b.From = "0"
		require.Equal(t, resumeScript.args(all, "1", millis, 2, int64(7), int64(3_600_000), "0"), b.setArgs())
		require.Equal(t, releaseScript.args(keys, "1", "0"), b.giveUpArgs(0))
		require.Equal(t, []any{"a", "b"}, b.Keys, "which the commands share")
	})
}
