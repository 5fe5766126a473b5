package node

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// requireDebts requires that so much is owed to node 0.
func (r *rig) requireDebts(want int) {
	r.t.Helper()
	synctest.Wait()
	require.Equal(r.t, want, r.Debts()[0])
}

// doubtful is an attempt whose SET was not answered, not given up yet.
func (r *rig) doubtful(key, token string, ttl time.Duration) *bid {
	r.t.Helper()
	b := r.bid(key, token, ttl)
	r.askFor(b, patience)
	r.expect(0, "set "+key+" "+token).end(errReset, silent)
	b.requireVote(0, quorum.Unknown, errReset)
	return b
}

func TestAReleaseThatIsNotAnsweredMakesADebt(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]struct {
		reply
		error
	}{"silence": {silent, errReset}, "unsent": {notAsked, errRefusedDial}, "an error": {readOnly, errReadOnly}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				b.release()
				r.expect(0, "release k 1").end(lost.error, lost.reply)
				require.ErrorIs(t, b.answer(0, 1).cause, lost.error)
				b.requireAnswer(0, 1, quorum.NoAnswer, true)
				r.requireDebts(1)
			})
		})
	}
}

func TestOneAnswerEndsADebtWhoseSetWasAnswered(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]reply{"deleted": deleted, "absent": absent, "foreign": foreign} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				b.release()
				r.expect(0, "release k 1").end(errReset, silent)
				r.expectAt(0, 10*ms, "release k 1").end(nil, end)
				r.requireDebts(0)
				r.quietFor(0, 2*ttl)
				b.release()
				b.requireAnswer(0, 2, quorum.Deleted, false)
			})
		})
	}
}

func TestADebtThatIsAnsweredByErrorsAloneEndsAfterOneTTL(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		b.release()
		for _, at := range []time.Duration{0, 50, 200, 1000, 3500, 6000, 8500, 10_000} {
			r.expectAt(0, at*ms, "release k 1").end(nil, readOnly)
		}
		r.requireDebts(0)
		r.quietFor(0, time.Hour)
	})
}

// repeatTimes are the definition's: at the first answer and 50, 200 and 1000 ms after it, then every quarter of the TTL, until
// one TTL after it.
func repeatTimes(ttl time.Duration) []time.Duration {
	var out []time.Duration
	for _, at := range []time.Duration{0, 50 * ms, 200 * ms, 1000 * ms} {
		if at < ttl {
			out = append(out, at)
		}
	}
	for at := time.Second + ttl/4; at < ttl; at += ttl / 4 {
		out = append(out, at)
	}
	return append(out, ttl)
}

func TestADebtOfUnknownFateIsRepeatedOnScheduleWhateverTheAnswers(t *testing.T) {
	t.Parallel()
	require.Equal(t, []time.Duration{0, 50 * ms, 200 * ms, 1000 * ms, 3500 * ms, 6000 * ms, 8500 * ms, 10_000 * ms}, repeatTimes(10*time.Second))
	require.Equal(t, []time.Duration{0, 50 * ms, 200 * ms, 300 * ms}, repeatTimes(300*ms))
	require.Equal(t, []time.Duration{0, ms}, repeatTimes(ms))
	answers := map[string][]reply{
		"absent": {absent}, "deleted": {deleted}, "foreign": {foreign}, "an error": {readOnly}, "a wrong shape": {granted},
		"one after the other":  {deleted, absent, readOnly, foreign, absent, granted},
		"an error to the last": {absent, absent, absent, absent, absent, absent, absent, readOnly},
	}
	for name, replies := range answers {
		for _, ttl := range []time.Duration{10 * time.Second, 2 * time.Second, 300 * ms, 50 * ms, ms} {
			t.Run(name+" "+ttl.String(), func(t *testing.T) {
				t.Parallel()
				bubble(t, 1, func(t *testing.T, r *rig) {
					b := r.doubtful("k", "1", ttl)
					b.release()
					for i, at := range repeatTimes(ttl) {
						repeat := r.expectAt(0, at, "release k 1")
						require.True(t, i == 0 || r.Debts()[0] == 1)
						repeat.end(nil, replies[i%len(replies)])
					}
					r.requireDebts(0)
					r.quietFor(0, time.Hour)
					require.True(t, b.answer(0, 1).mayHold)
					b.release() // it is over for good
					b.requireAnswer(0, 2, quorum.Clear, false)
				})
			})
		}
	}
}

func TestTheScheduleCountsFromTheFirstAnswerAndSkipsWhatIsPast(t *testing.T) {
	t.Parallel()
	const roundTrip, ttl = 160 * ms, 2 * time.Second
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.doubtful("k", "1", ttl)
		b.release()
		for range 4 { // no answer: it is the node's pause that spaces the tries
			r.expect(0, "release k 1").end(errReset, silent)
		}
		since := time.Duration(0)
		for i, at := range []time.Duration{0, 50 * ms, 1000 * ms, 1660 * ms, ttl} {
			repeat, left := r.next(0)
			if i > 0 {
				require.Equal(t, since+at, left)
			}
			r.wait(roundTrip)
			repeat.end(nil, absent)
			if i == 0 {
				since = r.clock.Now()
			}
		}
		r.requireDebts(0)
		r.quietFor(0, time.Hour)
	})
}

func TestARepeatThatIsNotAnsweredIsMadeUpForWhenTheNodeAnswers(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.doubtful("k", "1", 300*ms).release()
		r.expectAt(0, 0, "release k 1").end(nil, absent)
		r.expectAt(0, 50*ms, "release k 1").end(errReset, silent)
		r.expectAt(0, 60*ms, "release k 1").end(errRefusedDial, notAsked)
		r.expectAt(0, 80*ms, "release k 1").end(nil, absent)
		r.expectAt(0, 200*ms, "release k 1").end(nil, absent)
		// The last one counts only once it is answered.
		r.expectAt(0, 300*ms, "release k 1").end(errReset, silent)
		r.requireDebts(1)
		r.expectAt(0, 310*ms, "release k 1").end(nil, absent)
		r.requireDebts(0)
		r.quietFor(0, time.Hour)
	})
}

func TestADebtIsCancelledWhenItsSetProvesUnsentOrRefused(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]reply{"unsent": notAsked, "refused": refused} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.ask("k", "1")
				set := r.expect(0, "set k 1")
				r.wait(nodeTimeout + 1)
				b.release() // the node is suspect by now, so it is owed at once
				b.requireAnswer(0, 1, quorum.NoAnswer, true)
				r.requireDebts(1)
				set.end(errRefusedDial, fate)
				r.requireDebts(0)
				b.release()
				b.requireAnswer(0, 2, quorum.Clear, false)
			}, healthy, healthy)
		})
	}
}

func TestALateGrantOfAnOwedClaimIsReleasedAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		r.wait(nodeTimeout + 1)
		b.release()
		set.end(nil, granted)
		r.expectAt(0, nodeTimeout+1, "release k 1").end(nil, deleted)
		r.requireDebts(0)
		r.quietFor(0, time.Hour)
	}, healthy, healthy)
}

func TestAnswersAfterAReleaseThatMayHaveRunCountAsDeleted(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]reply{"absent": absent, "foreign": foreign} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				b.release()
				first := r.expect(0, "release k 1")
				b.release()
				first.end(errReset, silent)
				r.expect(0, "release k 1").end(nil, second)
				b.requireAnswer(0, 2, quorum.Deleted, false)
			})
		})
	}
}

func TestAnswersAfterAReleaseThatWasNeverSentCountAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]struct {
		reply
		quorum.Answer
	}{"absent": {absent, quorum.Absent}, "foreign": {foreign, quorum.Foreign}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				b.release()
				first := r.expect(0, "release k 1")
				b.release()
				first.end(errRefusedDial, notAsked)
				r.expect(0, "release k 1").end(nil, second.reply)
				b.requireAnswer(0, 2, second.Answer, false)
			})
		})
	}
}
