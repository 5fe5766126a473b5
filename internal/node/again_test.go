package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// askAgain asks node 0 once more, and requires that it is asked.
func (b *bid) askAgain() *hearing {
	b.r.t.Helper()
	h := b.r.hearing()
	require.True(b.r.t, b.r.Again(&b.Attempt, 0, h, b.r.clock.Now()+patience))
	return h
}

// requireNotAsked requires that the node is not asked, and nobody hears of it.
func (b *bid) requireNotAsked() {
	b.r.t.Helper()
	h := b.r.hearing()
	require.False(b.r.t, b.r.Again(&b.Attempt, 0, h, b.r.clock.Now()+patience))
	h.requireSilence(0)
}

func TestAskingAgainIsConfirmedByItsOwnAnswerAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply
		error
		of    quorum.Confirmation
		cause error
	}{
		"one":            {yes, nil, quorum.Confirmed, nil},
		"minus one":      {value(int64(-1)), nil, quorum.Gone, nil},
		"zero":           {no, nil, quorum.Gone, nil},
		"minus two":      {value(int64(-2)), nil, quorum.Unconfirmed, ErrShape},
		"two":            {value(int64(2)), nil, quorum.Unconfirmed, ErrShape},
		"an error":       {readOnly, nil, quorum.Unconfirmed, errReadOnly},
		"silence":        {silent, errTimeout, quorum.Unconfirmed, errTimeout},
		"a refused dial": {notAsked, errRefusedDial, quorum.Unconfirmed, errRefusedDial},
		"OK":             {granted, nil, quorum.Unconfirmed, ErrShape},
		"a list of one":  {value([]any{int64(1)}), nil, quorum.Unconfirmed, ErrShape},
		"nothing":        {value(nil), nil, quorum.Unconfirmed, ErrShape},
		"the nil reply":  {refused, nil, quorum.Unconfirmed, ErrShape},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.ask("k", "1")
				r.expect(0, "set k 1").end(nil, refused)
				b.requireVote(0, quorum.Refused, nil)
				h := b.askAgain()
				r.expect(0, "again k 1").end(tt.error, tt.reply)
				h.requireReply(0, tt.of, tt.cause)
				require.Equal(t, tt.of == quorum.Gone, h.reply(0).Foreign)
				b.requireVote(0, quorum.Refused, nil) // which was heard once, and is not told anew
			})
		})
	}
}

// A grant of a fenced lock that was asked for again brings its stamp; of one that is not fenced a list is none.
func TestAskingAgainForAFencedLockTakesWholeStampsOnly(t *testing.T) {
	t.Parallel()
	for name, tt := range stamps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.fencedBid("1", "k")
				r.askFor(b, patience)
				r.expect(0, "acquire k,~f:k 1").end(nil, value(int64(-1)))
				b.requireVote(0, quorum.Refused, nil)
				h := b.askAgain()
				r.expect(0, "again k,~f:k 1").end(nil, tt.reply)
				require.Equal(t, tt.vote == quorum.Granted, h.reply(0).Confirmation == quorum.Confirmed)
				require.Equal(t, tt.vote == quorum.Refused, h.reply(0).Confirmation == quorum.Gone)
				require.Equal(t, tt.stamp, b.Fencing.Stamps[0])
			})
		})
	}
}

// What the node had of the token before is what it has after a no, and both of its SETs may have made what follows anything else.
func TestAfterAskingAgainTheClaimIsWhatBothOfItsSetsMayHaveMadeOfIt(t *testing.T) {
	t.Parallel()
	eachPairOfSets(t, (*bid).askAgain, "again k 1")
}

func TestNobodyIsAskedAgainWhileAnotherSetIsUnderWayOrAfterTheEnd(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		b := r.ask("k", "1")
		b.requireNotAsked() // its SET is queued
		busy.end(nil, granted)
		set := r.expect(0, "set k 1")
		b.requireNotAsked() // and under way
		set.end(nil, refused)
		b.requireVote(0, quorum.Refused, nil)
		b.askAgain()
		b.requireNotAsked() // as is the question itself
		r.expect(0, "again k 1").end(nil, value(int64(-1)))
		b.release()
		b.requireNotAsked()
		r.quietFor(0, 2*ttl)
	})
}

// A question that has not left when the attempt is given up never does.
func TestAQuestionThatIsQueuedAtTheEndIsNotSent(t *testing.T) {
	t.Parallel()
	for _, withdraw := range []bool{false, true} {
		bubble(t, 1, func(t *testing.T, r *rig) {
			b := r.ask("k", "1")
			r.expect(0, "set k 1").end(nil, refused)
			b.requireVote(0, quorum.Refused, nil)
			r.ask("x", "1")
			busy := r.expect(0, "set x 1")
			h := b.askAgain()
			b.giveUp(withdraw, patience)
			b.requireAnswer(0, 1, quorum.Clear, false)
			busy.end(nil, granted)
			r.quietFor(0, 2*ttl)
			h.requireSilence(0)
		})
	}
}

func TestAQuestionWithoutAnAnswerIsOwed(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		r.expect(0, "set k 1").end(nil, refused)
		b.requireVote(0, quorum.Refused, nil)
		b.askAgain()
		question := r.expect(0, "again k 1")
		b.release()
		question.end(errReset, silent)
		r.expect(0, "release k 1").end(nil, absent)
		b.requireAnswer(0, 1, quorum.Absent, true)
		r.requireDebts(1)
		r.expectAt(0, 50*ms, "release k 1").end(nil, deleted)
		r.requireDebts(1) // the bytes may come later still
		for r.Debts()[0] > 0 {
			r.expect(0, "release k 1").end(nil, absent)
			r.wait(0)
		}
		require.GreaterOrEqual(t, r.clock.Now(), ttl)
	})
}

func TestAfterNoScriptAQuestionGoesOutBySourceUnlessItIsTooLate(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		r.expect(0, "set k 1").end(nil, refused)
		b.requireVote(0, quorum.Refused, nil)
		h := b.askAgain()
		r.expect(0, "again k 1").end(nil, noScript)
		r.expect(0, "eval k 1").end(nil, yes)
		h.requireReply(0, quorum.Confirmed, nil)

		h = b.askAgain()
		question := r.expect(0, "again k 1")
		b.release()
		question.end(nil, noScript)
		h.requireReply(0, quorum.Unconfirmed, ErrLate)
		r.expect(0, "release k 1").end(nil, deleted)
		b.requireAnswer(0, 1, quorum.Deleted, false)
		r.quietFor(0, 2*ttl)
	})
}

func TestAQuestionIsNotSentPastItsDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		r.expect(0, "set k 1").end(nil, refused)
		b.requireVote(0, quorum.Refused, nil)
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		h := r.hearing()
		require.True(t, r.Again(&b.Attempt, 0, h, r.clock.Now()+20*ms))
		time.Sleep(20 * ms)
		busy.end(nil, granted)
		h.requireReply(0, quorum.Unconfirmed, ErrLate)
		b.release()
		b.requireAnswer(0, 1, quorum.Clear, false)
		r.quietFor(0, 2*ttl)
	})
}
