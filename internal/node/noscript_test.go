package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// holding is an attempt that was granted.
func (r *rig) holding(key, token string) *bid {
	b := r.ask(key, token)
	r.expect(0, "set "+key+" "+token).end(nil, granted)
	b.requireVote(0, quorum.Granted, nil)
	return b
}

func TestAfterNoScriptEachReleaseGoesOutBySourceAtTheHeadInItsOrder(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		a, b, c := r.holding("a", "1"), r.holding("b", "1"), r.holding("c", "1")
		r.ask("x", "1")
		first := r.expect(0, "set x 1")
		a.release()
		b.release()
		r.ask("y", "1")
		c.release()
		first.end(nil, granted)
		flushed := r.expect(0, "release a 1", "release b 1", "set y 1", "release c 1")
		r.ask("z", "1")
		flushed.end(nil, noScript, deleted, granted, noScript) // b's arrived just after somebody loaded the script
		r.expect(0, "eval a 1", "eval c 1", "set z 1").end(nil, deleted, foreign, granted)
		a.requireAnswer(0, 1, quorum.Deleted, false)
		b.requireAnswer(0, 1, quorum.Deleted, false)
		c.requireAnswer(0, 1, quorum.Foreign, false)
		r.quietFor(0, time.Minute)
	})
}

func TestNoScriptToTheSourceIsAnErrorReply(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		b.release()
		r.expect(0, "release k 1").end(nil, noScript)
		r.expectAt(0, 0, "eval k 1").end(nil, noScript)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		require.EqualError(t, b.answer(0, 1).cause, "NOSCRIPT No matching script. Please use EVAL.")
		r.expectAt(0, 50*time.Millisecond, "release k 1").end(nil, absent)
		r.quietFor(0, time.Minute)
	})
}

func TestAfterNoScriptNothingGoesOutPastItsDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		b.giveUp(false, 30*time.Millisecond)
		release := r.expect(0, "release k 1")
		r.wait(30 * time.Millisecond)
		release.end(nil, noScript)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)

		// It ran nowhere: it starts no schedule, and what comes after it is the first try.
		debt := r.expectAt(0, 30*time.Millisecond, "release k 1")
		b.release()
		debt.end(nil, noScript)
		r.expectAt(0, 30*time.Millisecond, "eval k 1", "release k 1").end(nil, absent, absent)
		b.requireAnswer(0, 2, quorum.Absent, false)
		r.quietFor(0, time.Minute)
	})
}

func TestADebtGoesOutBySourceToo(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		b.release()
		set.end(errReset, silent)
		r.expect(0, "release k 1").end(errReset, silent)
		r.expectAt(0, 20*time.Millisecond, "release k 1").end(nil, noScript)
		r.expectAt(0, 20*time.Millisecond, "eval k 1").end(nil, deleted)
		r.expectAt(0, 70*time.Millisecond, "release k 1").end(nil, absent)
		require.Equal(t, 1, r.Debts()[0])
	})
}

func TestWhatIsResentAfterNoScriptMayFailToBeSent(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		b.release()
		r.expect(0, "release k 1").end(nil, noScript)
		r.expect(0, "eval k 1").end(errRefusedDial, notAsked)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		b.release()
		r.expect(0, "release k 1").end(nil, absent)
		b.requireAnswer(0, 2, quorum.Absent, false)
		require.Zero(t, r.Debts()[0])
		r.quietFor(0, time.Minute)
	})
}

func TestARefusalBehindAReleaseThatHadNoScriptIsUnknown(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		ghost := r.holding("k", "1")
		r.ask("x", "1")
		first := r.expect(0, "set x 1")
		ghost.release()
		b, other := r.ask("k", "2"), r.ask("other", "2")
		first.end(nil, granted)
		r.expect(0, "release k 1", "set k 2", "set other 2").end(nil, noScript, refused)
		b.requireVote(0, quorum.Unknown, ErrOwed)
		other.requireVote(0, quorum.Refused, nil)
		r.expect(0, "eval k 1").end(nil, deleted)
		b.release()
		b.requireAnswer(0, 1, quorum.Clear, false)
		r.quiet(0)
	})
}
