package node

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestAReleaseLeavesBehindItsSet(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		other := r.ask("other", "0")
		first := r.expect(0, "set other 0")
		b := r.ask("k", "1")
		b.release()
		first.end(nil, granted)
		r.expect(0, "set k 1", "release k 1").end(nil, granted, deleted)
		b.requireVote(0, quorum.Granted, nil)
		b.requireAnswer(0, 1, quorum.Deleted, false)
		other.requireVote(0, quorum.Granted, nil)
	})
}

func TestAReleaseGoesAfterItsSetThatIsUnderWay(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		b.release()
		r.quiet(0)
		set.end(nil, granted)
		r.expect(0, "release k 1").end(nil, deleted)
		b.requireAnswer(0, 1, quorum.Deleted, false)
	})
}

func TestWhatQueuesMeanwhileLeavesAsOnePipelineInItsOrder(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("a", "0")
		first := r.expect(0, "set a 0")
		var want []string
		for i := range 100 {
			b := r.ask("k", fmt.Sprint(i))
			b.release()
			want = append(want, fmt.Sprintf("set k %d", i), fmt.Sprintf("release k %d", i))
		}
		r.quiet(0)
		first.end(nil, granted)
		r.expect(0, want...).end(nil, granted, deleted)
		r.quiet(0)
	})
}

func TestAWithdrawnOperationNeverReachesTheTransport(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("a", "0")
		first := r.expect(0, "set a 0")
		before, b, after := r.ask("b", "1"), r.ask("k", "1"), r.ask("c", "1")
		b.giveUp(true, patience)
		b.requireVote(0, quorum.Unsent, ErrWithdrawn)
		b.requireAnswer(0, 1, quorum.Clear, false)
		first.end(nil, granted)
		r.expect(0, "set b 1", "set c 1").end(nil, granted)
		before.requireVote(0, quorum.Granted, nil)
		after.requireVote(0, quorum.Granted, nil)
		r.quiet(0)
	})
}

func TestWithdrawingTakesBackNothingThatLeft(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		b.giveUp(true, patience)
		set.end(nil, granted)
		r.expect(0, "release k 1").end(nil, deleted)
		b.requireVote(0, quorum.Granted, nil)
		b.requireAnswer(0, 1, quorum.Deleted, false)
	})
}

func TestAnOperationPastItsDeadlineNeverReachesTheTransport(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("a", "0")
		first := r.expect(0, "set a 0")
		late, inTime := r.bid("k", "1", ttl), r.bid("k", "2", ttl)
		r.askFor(late, 50*time.Millisecond)
		late.release()
		r.askFor(inTime, 51*time.Millisecond)
		time.Sleep(50 * time.Millisecond)
		first.end(nil, granted)
		r.expect(0, "set k 2").end(nil, granted)
		late.requireVote(0, quorum.Unsent, ErrLate)
		late.requireAnswer(0, 1, quorum.Clear, false)
		inTime.requireVote(0, quorum.Granted, nil)
	})
}

func TestAReleasePastItsDeadlineBecomesADebt(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		b.giveUp(false, 50*time.Millisecond)
		time.Sleep(50 * time.Millisecond)
		set.end(nil, granted)
		r.expect(0, "release k 1").end(nil, deleted)
		require.ErrorIs(t, b.answer(0, 1).cause, ErrLate)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		require.Zero(t, r.Debts()[0])
	})
}

func TestAReleaseWhoseSetWasNeverSentIsNotSent(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		b.release()
		set.end(errRefusedDial, notAsked)
		b.requireVote(0, quorum.Unsent, errRefusedDial)
		b.requireAnswer(0, 1, quorum.Clear, false)
		r.quietFor(0, time.Minute)
	})
}

func TestAReleaseBehindARefusedSetIsNotSent(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		b.release()
		set.end(nil, refused)
		b.requireVote(0, quorum.Refused, nil)
		b.requireAnswer(0, 1, quorum.Clear, false)
		r.quietFor(0, time.Minute)
	})
}

func TestASetThatWasRefusedIsNeverOwed(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("a", "0")
		first := r.expect(0, "set a 0")
		b := r.ask("k", "1")
		b.release()
		first.end(nil, granted)
		r.expect(0, "set k 1", "release k 1").end(errReset, refused, silent)
		b.requireVote(0, quorum.Refused, nil)
		b.requireAnswer(0, 1, quorum.Clear, false)
		require.Zero(t, r.Debts()[0])
		r.quietFor(0, time.Minute)
	})
}

func TestAnAttemptIsReleasedTwiceFromMemory(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		r.expect(0, "set k 1").end(nil, granted)
		synctest.Wait()
		b.release()
		b.release()
		// The second one was submitted before the first was answered: it left, or was answered from memory.
		first, _ := r.next(0)
		first.end(nil, foreign)
		b.requireAnswer(0, 2, quorum.Foreign, false)
		b.release()
		b.requireAnswer(0, 3, quorum.Foreign, false)
		r.quiet(0)
	})
}
