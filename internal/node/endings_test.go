package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// leave gives the attempt up and lets its keys live for rest from now.
func (b *bid) leave(rest time.Duration) {
	if b.End != Leave {
		b.End, b.Until = Leave, b.r.clock.Now()+rest
	}
	b.giveUp(true, patience)
}

func TestLeaveTellsTheNodeHowLongTheKeyIsToLive(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply
		quorum.Answer
	}{"ours": {deleted, quorum.Deleted}, "absent": {absent, quorum.Absent}, "foreign": {foreign, quorum.Foreign}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				r.wait(time.Second)
				b.leave(300 * ms)
				r.expect(0, "leave k 1 300").end(nil, tt.reply)
				b.requireAnswer(0, 1, tt.Answer, false)
				r.requireDebts(0)
				b.leave(0)
				b.requireAnswer(0, 2, tt.Answer, false)
				r.quietFor(0, 2*ttl)
			})
		})
	}
}

func TestALeaveThatIsOwedSendsWhatIsLeftAtEachDepartureAndNeverDeletes(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.doubtful("k", "1", ttl)
		b.leave(2 * time.Second)
		for _, at := range []struct {
			ms   time.Duration
			says string
		}{
			{0, "2000"}, {50, "1950"}, {200, "1800"}, {1000, "1000"}, {3500, "1"}, {6000, "1"}, {8500, "1"}, {10_000, "1"},
		} {
			r.expectAt(0, at.ms*ms, "leave k 1 "+at.says).end(nil, deleted)
		}
		r.requireDebts(0)
		r.quietFor(0, time.Hour)
	})
}

func TestALeaveThatIsNotAnsweredIsOwedAndPaidOnce(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		b.leave(time.Second)
		r.expect(0, "leave k 1 1000").end(errReset, silent)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		r.requireDebts(1)
		r.expectAt(0, 10*ms, "leave k 1 990").end(errRefusedDial, notAsked)
		r.expectAt(0, 30*ms, "leave k 1 970").end(nil, noScript)
		r.expectAt(0, 30*ms, "eval k 1").end(nil, deleted)
		r.requireDebts(0)
		r.quietFor(0, 2*ttl)
	})
}

func TestALeaveGoesAlongWithTheNextAttemptOnItsKeyAsALeave(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		b.leave(time.Second)
		r.expect(0, "leave k 1 1000").end(errReset, silent)
		b.answer(0, 1)
		next := r.ask("k", "2")
		r.expectAt(0, 0, "leave k 1 1000", "set k 2").end(nil, deleted, refused)
		next.requireVote(0, quorum.Refused, nil) // by the key that was left, and that is paid
		r.quietFor(0, 2*ttl)
	})
}

// A release that may have run explains an absent key; a leave that may have run does not: it deletes nothing.
func TestAKeyThatIsGoneBehindALeaveThatMayHaveRunIsAbsent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply
		quorum.Answer
	}{"ours": {deleted, quorum.Deleted}, "absent": {absent, quorum.Absent}, "foreign": {foreign, quorum.Foreign}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				b.leave(time.Minute)
				first := r.expect(0, "leave k 1 60000")
				b.leave(0)
				first.end(errReset, silent)
				r.expect(0, "leave k 1 60000").end(nil, tt.reply)
				b.requireAnswer(0, 2, tt.Answer, false)
			})
		})
	}
}

func TestALeaveBehindASetThatNeverLeftLeavesNothing(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		b := r.ask("k", "1")
		b.leave(time.Second)
		b.requireVote(0, quorum.Unsent, ErrWithdrawn)
		b.requireAnswer(0, 1, quorum.Clear, false)
		busy.end(nil, granted)
		r.quietFor(0, 2*ttl)
	})
}

func TestCloseWaitsForEveryKindOfEnding(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		several := r.bidOn("1", "a", "b")
		r.askFor(several, patience)
		r.expect(0, "acquire a,b 1").end(nil, yes)
		left := r.holding("c", "1")
		taken := r.takeover("2", "1")
		r.expect(0, "resume k 2 1").end(nil, yes)
		taken.requireVote(0, quorum.Granted, nil)
		held := r.holding("d", "1")
		held.repair()
		r.expect(0, "repair d 1 7").end(errReset, silent)

		several.release()
		r.expect(0, "release a,b 1").end(errReset, silent)
		several.answer(0, 1)
		left.leave(time.Second)
		r.expect(0, "leave c 1 1000").end(errReset, silent)
		left.answer(0, 1)
		taken.restore()
		r.expect(0, "restore k 2 1").end(errReset, silent)
		taken.answer(0, 1)
		held.release()
		r.expect(0, "release d 1").end(errReset, silent)
		held.answer(0, 1)
		r.requireDebts(4)

		began, c := r.clock.Now(), r.startClose(t.Context())
		paid, at := r.next(0)
		require.ElementsMatch(t, []string{
			"release a,b 1", fmt.Sprint("leave c 1 ", (time.Second - at).Milliseconds()), "restore k 2 1", "release d 1",
		}, paid.words())
		c.requireOpen()
		paid.end(nil, deleted)
		r.requireDebts(1) // the repair may yet arrive
		schedule := repeatTimes(ttl)
		for _, after := range schedule[1 : len(schedule)-1] {
			c.requireOpen()
			r.expectAt(0, at+after, "release d 1").end(nil, absent)
		}
		c.requireReturn(began+ttl, nil) // a moment before the last: nothing that was sent before can be alive
	})
}
