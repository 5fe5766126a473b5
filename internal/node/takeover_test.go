package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// takeover is an attempt that takes k over from the token before.
func (r *rig) takeover(token, before string) *bid {
	b := r.bid("k", token, ttl)
	b.From = before
	r.askFor(b, patience)
	return b
}

func (b *bid) restore() {
	b.End = Restore
	b.giveUp(true, patience)
}

func TestATakeoverIsReadLikeAnAcquisitionByScript(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply
		error
		vote  quorum.Vote
		cause error
	}{
		"one": {yes, nil, quorum.Granted, nil}, "zero": {no, nil, quorum.Refused, nil},
		"minus three": {value(int64(-3)), nil, quorum.Unknown, ErrShape}, "OK": {granted, nil, quorum.Unknown, ErrShape},
		"the nil reply": {refused, nil, quorum.Unknown, ErrShape}, "nothing": {value(nil), nil, quorum.Unknown, ErrShape},
		"a list of one": {value([]any{int64(1)}), nil, quorum.Unknown, ErrShape},
		"a stamp":       {value([]any{int64(1), int64(1), int64(1), int64(1)}), nil, quorum.Unknown, ErrShape},
		"an error":      {readOnly, nil, quorum.Unknown, errReadOnly}, "silence": {silent, errReset, quorum.Unknown, errReset},
		"a refused dial": {notAsked, errRefusedDial, quorum.Unsent, errRefusedDial},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.takeover("2", "1")
				r.expect(0, "resume k 2 1").end(tt.error, tt.reply)
				b.requireVote(0, tt.vote, tt.cause)
				several := r.bidOn("2", "a", "b")
				r.askFor(several, patience)
				r.expect(0, "acquire a,b 2").end(tt.error, tt.reply)
				several.requireVote(0, tt.vote, tt.cause)
			})
		})
	}
}

// Only an acquisition says which key refused: elsewhere the same number would be the answer to a release.
func TestARefusalTellsWhichKeyRefused(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		for i := range 2 {
			b := r.bidOn("2", "a", "b")
			b.Blockers = new([quorum.MaxNodes]uint8)
			r.askFor(b, patience)
			r.expect(0, "acquire a,b 2").end(nil, value(int64(-1-i)))
			b.requireVote(0, quorum.Refused, nil)
			require.EqualValues(t, i+1, b.Blockers[0])
		}
		unsaid := r.bidOn("2", "a", "b")
		unsaid.Blockers = &[quorum.MaxNodes]uint8{9}
		r.askFor(unsaid, patience)
		r.expect(0, "acquire a,b 2").end(nil, no)
		unsaid.requireVote(0, quorum.Refused, nil)
		require.Zero(t, unsaid.Blockers[0])
		b := r.takeover("2", "1")
		r.expect(0, "resume k 2 1").end(nil, foreign)
		b.requireVote(0, quorum.Unknown, ErrShape)
	})
}

func TestATakeoverInVainGivesTheKeyBackToTheTokenBefore(t *testing.T) {
	t.Parallel()
	t.Run("granted", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			b := r.takeover("2", "1")
			r.expect(0, "resume k 2 1").end(nil, yes)
			b.restore()
			r.expect(0, "restore k 2 1").end(nil, deleted)
			b.requireAnswer(0, 1, quorum.Deleted, false)
			r.quietFor(0, 2*ttl)
		})
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			b := r.takeover("2", "1")
			r.expect(0, "resume k 2 1").end(nil, no)
			b.restore()
			b.requireAnswer(0, 1, quorum.Clear, false)
			r.quietFor(0, 2*ttl)
		})
	})
	t.Run("of unknown fate, and so owed", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			b := r.takeover("2", "1")
			r.expect(0, "resume k 2 1").end(errReset, silent)
			b.restore()
			for _, at := range repeatTimes(ttl) {
				r.expectAt(0, at, "restore k 2 1").end(nil, foreign)
			}
			r.requireDebts(0)
			r.quietFor(0, time.Hour)
		})
	})
}

func TestTheNextTakeoverComesBehindTheOneThatFailed(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.takeover("2", "1")
		r.expect(0, "resume k 2 1").end(errReset, silent)
		b.restore()
		r.expect(0, "restore k 2 1").end(errReset, silent)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		again := r.takeover("3", "1")
		r.expect(0, "restore k 2 1", "resume k 3 1").end(nil, deleted, yes)
		again.requireVote(0, quorum.Granted, nil)
		r.requireDebts(1) // the first one may yet arrive, and finds nothing to take over
	})
}

// Where the take-over did not come, the token is still the giver's, and its release is ours by now.
func TestAReleaseOfWhatWasTakenOverGoesToNodesThatTheTakeoverDidNotReach(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply
		sent bool
	}{
		"unsent": {notAsked, true}, "refused": {no, false}, "granted": {yes, true}, "errored": {readOnly, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.takeover("2", "1")
				r.expect(0, "resume k 2 1").end(errRefusedDial, tt.reply)
				b.vote(0)
				b.release()
				if tt.sent {
					r.expect(0, "release k 2 1").end(nil, deleted)
					b.requireAnswer(0, 1, quorum.Deleted, false)
				} else {
					b.requireAnswer(0, 1, quorum.Clear, false)
				}
				r.requireDebts(0)
				r.quietFor(0, 2*ttl)
			})
		})
	}
}

// Likewise for who leaves it: the giver's key would live for its whole TTL else.
func TestWhatWasTakenOverIsLeftOnNodesThatTheTakeoverDidNotReach(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.takeover("2", "1")
		r.expect(0, "resume k 2 1").end(errRefusedDial, notAsked)
		b.vote(0)
		b.leave(300 * ms)
		left := r.expect(0, "leave k 2 300")
		require.Equal(t, "1", left.cmds[0].args[6], "where the key is the giver's, it is left, too")
		left.end(nil, deleted)
		b.requireAnswer(0, 1, quorum.Deleted, false)
		r.requireDebts(0)
		r.quietFor(0, 2*ttl)
	})
}

func TestATakeoverThatIsTakenBackIsReleasedWhereItWasToCome(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		b := r.takeover("2", "1")
		b.giveUp(true, patience)
		b.requireVote(0, quorum.Unsent, ErrWithdrawn)
		busy.end(nil, granted)
		r.expect(0, "release k 2 1").end(nil, deleted)
		b.requireAnswer(0, 1, quorum.Deleted, false)
		r.quietFor(0, 2*ttl)
	})
}

func TestATakeoverThatWasUnderWayAndProvesUnsentIsReleasedAllTheSame(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.takeover("2", "1")
		set := r.expect(0, "resume k 2 1")
		b.giveUp(true, patience)
		set.end(errRefusedDial, notAsked)
		b.requireVote(0, quorum.Unsent, errRefusedDial)
		r.expect(0, "release k 2 1").end(nil, absent)
		b.requireAnswer(0, 1, quorum.Absent, false)
		r.quietFor(0, 2*ttl)
	})
}
