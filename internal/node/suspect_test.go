package node

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

const ms = time.Millisecond

// makeSuspect makes the node suspect with one SET that is not answered in time, and returns when the first probe is due.
func (r *rig) makeSuspect(node int) (probe time.Duration) {
	r.t.Helper()
	r.ask("hung", "1")
	set := r.expect(node, "set hung 1")
	r.wait(nodeTimeout)
	set.end(errTimeout, silent)
	synctest.Wait()
	return r.clock.Now() + minPause
}

func TestASuspectNodeGetsOneProbeAtATimeSpacedTenMillisecondsDoublingToASecond(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		at := r.makeSuspect(0)
		for _, pause := range []time.Duration{20, 40, 80, 160, 320, 640, 1000, 1000, 1000} {
			probe := r.expectAt(0, at, "ping")
			r.quietFor(0, nodeTimeout)
			probe.end(errTimeout, silent)
			at += nodeTimeout + pause*ms
		}
		// A probe that fails quickly, without an answer, neither ends the suspicion nor changes the pace.
		r.expectAt(0, at, "ping").end(errRefusedDial, notAsked)
		r.expectAt(0, at+time.Second, "ping").end(nil, pong)
		r.quietFor(0, time.Hour)
	})
}

func TestThePaceOfProbesStartsAnewWithEachSuspicion(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		for range 3 {
			at := r.makeSuspect(0)
			r.expectAt(0, at, "ping").end(errReset, silent)
			r.expectAt(0, at+20*ms, "ping").end(nil, pong)
			r.quietFor(0, time.Minute)
		}
	})
}

func TestTheProbeIsTheOldestDebtWhereAnythingIsOwed(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		younger, older := r.holding("younger", "1"), r.holding("older", "1")
		at := r.makeSuspect(0)
		older.release()
		r.wait(ms)
		younger.release()
		r.expectAt(0, at, "release older 1").end(errReset, silent)
		r.expectAt(0, at+20*ms, "release older 1").end(nil, deleted)
		// The answer ends the suspicion: all that is due leaves at once.
		r.expectAt(0, at+20*ms, "release younger 1").end(nil, deleted)
		r.quietFor(0, time.Minute)
	}, healthy, healthy)
}

func TestTheNextOperationIsTheProbeWhereNothingIsOwed(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		at := r.makeSuspect(0)
		a, b := r.ask("a", "1"), r.ask("b", "1")
		probe := r.expectAt(0, at, "set a 1")
		r.quietFor(0, nodeTimeout)
		probe.end(errTimeout, silent)
		at += nodeTimeout + 20*ms
		r.expectAt(0, at, "set b 1").end(nil, granted)
		a.requireVote(0, quorum.Unknown, errTimeout)
		b.requireVote(0, quorum.Granted, nil)
		r.quietFor(0, time.Minute)
	})
}

func TestWhileAQuorumIsNotSuspectAllElseToASuspectNodeIsUnsentAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		held := r.ask("held", "1")
		r.expect(0, "set held 1").end(nil, granted)
		held.requireVote(0, quorum.Granted, nil)
		r.makeSuspect(0)
		for range 100 {
			b := r.ask("k", "1")
			b.requireVote(0, quorum.Unsent, ErrSuspect)
			b.release()
			b.requireAnswer(0, 1, quorum.Clear, false)
		}
		require.Zero(t, r.Debts()[0])
		held.release()
		require.ErrorIs(t, held.answer(0, 1).cause, ErrSuspect)
		held.requireAnswer(0, 1, quorum.NoAnswer, true)
		require.Equal(t, 1, r.Debts()[0])
		r.expect(0, "release held 1").end(nil, deleted)
		synctest.Wait()
		r.holding("k", "2")
	}, healthy, healthy)
}

func TestANodeIsSuspectOnceItsAnswerIsOverdueThoughItsBatchIsOut(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		slow := r.ask("slow", "1")
		set := r.expect(0, "set slow 1")
		r.wait(nodeTimeout)
		inTime := r.ask("in time", "1")
		r.wait(1)
		late := r.ask("late", "1")
		late.requireVote(0, quorum.Unsent, ErrSuspect)
		set.end(nil, granted) // it was slow, and is no suspect any more
		r.expect(0, "set in time 1").end(nil, granted)
		slow.requireVote(0, quorum.Granted, nil)
		inTime.requireVote(0, quorum.Granted, nil)
		r.holding("k", "1")
		r.quietFor(0, time.Minute)
	}, healthy, healthy)
}

func TestWithoutAQuorumThatIsNotSuspectOperationsWaitBehindTheProbeUntilTheirDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, r *rig) {
		r.ask("hung", "1")
		hung := []*batch{r.expect(0, "set hung 1"), r.expect(1, "set hung 1")}
		r.wait(nodeTimeout)
		for _, b := range hung {
			b.end(errTimeout, silent)
		}
		synctest.Wait()
		probes := []*batch{r.expect(0, "ping"), r.expect(1, "ping")}
		brief, withdrawn, patient := r.bid("brief", "1", ttl), r.ask("withdrawn", "1"), r.bid("patient", "1", ttl)
		r.askFor(brief, 15*ms)
		r.askFor(patient, time.Second)
		withdrawn.giveUp(true, patience)
		withdrawn.requireVote(0, quorum.Unsent, ErrWithdrawn)
		for _, p := range probes {
			p.end(errReset, silent)
		}
		r.quietFor(0, 20*ms-1)
		r.wait(1)
		// The probe that became due took out whoever's time is over.
		brief.requireVote(0, quorum.Unsent, ErrLate)
		r.expect(0, "set patient 1").end(nil, granted)
		r.expect(1, "set patient 1").end(nil, granted)
		patient.requireVote(0, quorum.Granted, nil)
		r.quietFor(0, time.Minute)
	}, healthy)
}

func TestAnAnswerEndsTheSuspicionAndAllThatWaitedLeavesAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		at := r.makeSuspect(0)
		probe := r.expectAt(0, at, "ping")
		a, b := r.ask("a", "1"), r.ask("b", "1")
		a.release()
		r.wait(5 * ms)
		probe.end(nil, failed(replyError("LOADING"))) // an error is an answer too
		r.expectAt(0, at+5*ms, "set a 1", "set b 1", "release a 1").end(nil, granted, granted, deleted)
		b.requireVote(0, quorum.Granted, nil)
		r.quietFor(0, time.Minute)
	})
}

func TestWhatExpiresBehindAProbeThatIsNotDueIsUnsent(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		at := r.makeSuspect(0)
		b := r.bid("k", "1", ttl)
		r.askFor(b, 3*ms)
		r.wait(4 * ms)
		next := r.ask("next", "1") // whoever comes by sees to it
		b.requireVote(0, quorum.Unsent, ErrLate)
		r.expectAt(0, at, "set next 1").end(nil, granted)
		next.requireVote(0, quorum.Granted, nil)
	})
}

func TestAQuickFailureMakesNoNodeSuspect(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		for range 20 {
			b := r.ask("k", "1")
			set := r.expect(0, "set k 1")
			r.wait(nodeTimeout - 1)
			set.end(errRefusedDial, notAsked)
			b.requireVote(0, quorum.Unsent, errRefusedDial)
		}
		r.quietFor(0, time.Minute)
	}, healthy, healthy)
}

func TestAStallOfThisProcessCostsTenMillisecondsAndARoundTrip(t *testing.T) {
	t.Parallel()
	const nodes, roundTrip = 5, 3 * ms
	for name, afterwards := range map[string]reply{"the answers are lost": silent, "the answers are there": granted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nodes, func(t *testing.T, r *rig) {
				r.ask("k", "1")
				var under []*batch
				for i := range nodes {
					under = append(under, r.expect(i, "set k 1"))
				}
				r.wait(2 * nodeTimeout)
				woke := r.clock.Now()
				b := r.ask("next", "1") // before the lanes' goroutines had their turn
				for _, u := range under {
					u.end(errTimeout, afterwards)
				}
				for i := range nodes {
					next := r.expect(i, "set next 1")
					go func() {
						time.Sleep(roundTrip)
						next.end(nil, granted)
					}()
				}
				time.Sleep(roundTrip)
				for i := range nodes {
					b.requireVote(i, quorum.Granted, nil)
					require.LessOrEqual(t, b.vote(i).at-woke, minPause+roundTrip)
				}
			})
		})
	}
}
