package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// handing is what a hand was told.
type handing struct {
	Hand
	r    *rig
	told [][]any
}

// handOver gives the attempt up, with a hand on node 0 for these queues.
func (b *bid) handOver(withdraw bool, patience time.Duration, lists ...any) *handing {
	h := &handing{r: b.r, Hand: Hand{Node: 0, Channels: "~w:", Lists: lists}}
	h.Heard = func(answer []any) { h.told = append(h.told, answer) }
	now := b.r.clock.Now()
	b.r.Release(&b.Attempt, b, withdraw, now, now+patience, []*Hand{&h.Hand})
	return h
}

// requireTold requires that the hand was told once, and what.
func (h *handing) requireTold(want ...any) {
	h.r.t.Helper()
	h.r.wait(0)
	require.Len(h.r.t, h.told, 1)
	require.Equal(h.r.t, want, h.told[0])
}

func TestAHandDeletesAndTellsWhoWasNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code   int64
		answer quorum.Answer
	}{
		"ours": {1, quorum.Deleted}, "gone": {0, quorum.Absent}, "somebody else's": {-1, quorum.Foreign},
	} {
		for what, rest := range map[string][]any{
			"somebody": {int64(1), "id"}, "nobody": {int64(0)}, "an error": {"NOPERM no list"}, "more than there is": {int64(1), "id", nil, "x"},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				bubble(t, 1, func(t *testing.T, r *rig) {
					b := r.holding("k", "1")
					h := b.handOver(true, patience, "~q:k")
					r.expect(0, "hand k 1 ~q:k").end(nil, value(append([]any{tt.code}, rest...)))
					b.requireAnswer(0, 1, tt.answer, false)
					h.requireTold(rest...)
					r.requireDebts(0)
					r.quietFor(0, 2*ttl)
				})
			})
		}
	}
}

// What is no answer of a release is none, whoever it names: the key is owed.
func TestAHandsAnswerOfAStrangeShapeReleasesNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]reply{
		"a list of one":          value([]any{int64(1)}),
		"an empty list":          value([]any{}),
		"a text in front":        value([]any{"1", int64(0)}),
		"a list in front":        value([]any{[]any{int64(1)}, int64(0)}),
		"a number of no meaning": value([]any{int64(2), int64(0)}),
		"OK":                     granted,
		"the nil reply":          refused,
		"an error":               readOnly,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				h := b.handOver(true, patience, "~q:k")
				r.expect(0, "hand k 1 ~q:k").end(nil, answer)
				b.requireAnswer(0, 1, quorum.NoAnswer, true)
				require.Len(t, h.told, 1, "once, whatever it is")
				r.requireDebts(1)
				r.expect(0, "release k 1").end(nil, deleted) // which names nobody any more
				r.wait(0)
				r.requireDebts(0)
				r.quietFor(0, 2*ttl)
			})
		})
	}
}

// Whoever waits at a node is to be named there even if that node never had the key.
func TestAHandGoesOutWhereNothingIsToBeReleased(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]reply{"refused": refused, "unsent": notAsked, "released before": granted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.ask("k", "1")
				r.expect(0, "set k 1").end(errReset, set)
				b.vote(0)
				want, n := quorum.Clear, 1
				if name == "released before" {
					b.release()
					r.expect(0, "release k 1").end(nil, deleted)
					b.answer(0, 1)
					want, n = quorum.Deleted, 2
				}
				h := b.handOver(true, patience, "~q:k")
				r.expect(0, "hand k 1 ~q:k").end(nil, value([]any{int64(-1), int64(1), "id"}))
				b.requireAnswer(0, n, want, false)
				h.requireTold(int64(1), "id")
				r.requireDebts(0)
				r.quietFor(0, 2*ttl)
			})
		})
	}
}

// A SET that never left is withdrawn, and the hand goes out all the same.
func TestAHandGoesOutBehindASetThatWasWithdrawn(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		b := r.ask("k", "1")
		h := b.handOver(true, patience, "~q:k")
		b.requireVote(0, quorum.Unsent, ErrWithdrawn)
		busy.end(nil, granted)
		r.expect(0, "hand k 1 ~q:k").end(nil, value([]any{int64(0), int64(0)}))
		b.requireAnswer(0, 1, quorum.Clear, false)
		h.requireTold(int64(0))
		r.requireDebts(0)
	})
}

func TestAHandOnOneNodeLeavesTheOthersToAReleaseOfTheirOwn(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		for i := range 3 {
			r.expect(i, "set k 1").end(nil, granted)
		}
		b.vote(2)
		h := b.handOver(true, patience, "~q:k")
		r.expect(0, "hand k 1 ~q:k").end(nil, value([]any{int64(1), int64(0)}))
		r.expect(1, "release k 1").end(nil, deleted)
		r.expect(2, "release k 1").end(nil, value([]any{int64(1), int64(0)})) // no hand asked for that
		b.requireAnswer(0, 1, quorum.Deleted, false)
		b.requireAnswer(1, 1, quorum.Deleted, false)
		b.requireAnswer(2, 1, quorum.NoAnswer, true)
		h.requireTold(int64(0))
	})
}

// Each canary names for the queues that are its own, and one node may be that of several keys.
func TestHandsOfSeveralKeysNameWhereTheirQueuesAre(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, r *rig) {
		b := r.bidOn("1", "a", "b", "c")
		r.askFor(b, patience)
		for i := range 2 {
			r.expect(i, "acquire a,b,c 1").end(nil, yes)
		}
		b.vote(1)
		var told [2][]any
		hands := []*Hand{
			{Node: 1, Channels: "~w:", Lists: []any{"~q:b"}, Heard: func(answer []any) { told[1] = answer }},
			{Node: 0, Channels: "~w:", Lists: []any{"~q:a", "~q:c"}, Heard: func(answer []any) { told[0] = answer }},
		}
		now := r.clock.Now()
		r.Release(&b.Attempt, b, true, now, now+patience, hands)
		r.expect(0, "hand a,b,c 1 ~q:a ~q:c").end(nil, value([]any{int64(1), int64(1), "x"}))
		r.expect(1, "hand a,b,c 1 ~q:b").end(nil, value([]any{int64(1), int64(0)}))
		b.requireAnswer(0, 1, quorum.Deleted, false)
		b.requireAnswer(1, 1, quorum.Deleted, false)
		require.Equal(t, [2][]any{{int64(1), "x"}, {int64(0)}}, told)
	})
}

// Of a lock that was taken over the token before goes along, as with any release.
func TestAHandReleasesWhatWasTakenOver(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.takeover("2", "1")
		r.expect(0, "resume k 2 1").end(nil, yes)
		b.vote(0)
		b.handOver(true, patience, "~q:k")
		left, _ := r.next(0)
		require.Equal(t, handScript.args([]any{"k"}, "2", "1", "~w:", "~q:k"), left.cmds[0].args)
		left.end(nil, value([]any{int64(1), int64(0)}))
		b.requireAnswer(0, 1, quorum.Deleted, false)
	})
}
