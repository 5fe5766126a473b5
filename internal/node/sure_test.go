package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// extended extends the attempt and lets the node answer it at once.
func (b *bid) extended(answer reply) Reply {
	b.r.t.Helper()
	h := b.extend()
	b.r.expect(0, "extend k 1").end(nil, answer)
	return h.reply(0)
}

func TestAGrantThatWasAnsweredIsSure(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		require.True(t, b.extended(armed(ttl)).Sure)
		require.True(t, b.extended(gone).Sure)
	})
}

func TestAnUnknownFateIsSureOneTTLAfterTheNodeFirstAnsweredIt(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]reply{
		"confirmed": armed(ttl), "gone": gone, "somebody else's": another, "an error": readOnly, "a wrong shape": granted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.doubtful("k", "1", ttl)
				r.wait(3 * time.Second)
				h := b.extend()
				r.expect(0, "extend k 1").end(errReset, silent) // which is no answer, and starts nothing
				require.False(t, h.reply(0).Sure)
				r.wait(time.Second)
				require.False(t, b.extended(first).Sure)
				r.wait(ttl - 1)
				require.False(t, b.extended(armed(ttl)).Sure)
				r.wait(1)
				require.True(t, b.extended(armed(ttl)).Sure)
			})
		})
	}
}

func TestAFateThatBecameSureIsReleasedLikeAGrant(t *testing.T) {
	t.Parallel()
	sure := func(t *testing.T, r *rig) *bid {
		b := r.doubtful("k", "1", ttl)
		b.extended(armed(ttl))
		r.wait(ttl)
		require.True(t, b.extended(armed(ttl)).Sure)
		b.release()
		return b
	}
	t.Run("answered once", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			b := sure(t, r)
			r.expect(0, "release k 1").end(nil, deleted)
			b.requireAnswer(0, 1, quorum.Deleted, false)
			r.requireDebts(0)
			r.quietFor(0, 2*ttl)
		})
	})
	t.Run("not answered, and so owed", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			b := sure(t, r)
			r.expect(0, "release k 1").end(errReset, silent)
			b.requireAnswer(0, 1, quorum.NoAnswer, true)
			r.requireDebts(1)
			r.expect(0, "release k 1").end(nil, deleted)
			r.requireDebts(0)
		})
	})
}

func TestAnErrorThatWasNotTheWholeTruthIsReleasedLikeAGrant(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		r.expect(0, "set k 1").end(nil, readOnly)
		b.requireVote(0, quorum.Unknown, errReadOnly)
		require.True(t, b.extended(armed(ttl)).Sure)
		b.release()
		r.expect(0, "release k 1").end(errReset, silent)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		r.requireDebts(1)
	})
}

func TestAnotherUnknownFateStartsTheWaitAnew(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.doubtful("k", "1", ttl)
		b.extended(gone)
		r.wait(ttl - 1)
		b.repair()
		r.expect(0, "repair k 1 7").end(errReset, silent)
		r.wait(1)
		require.False(t, b.extended(armed(ttl)).Sure)
		r.wait(ttl - 1)
		require.False(t, b.extended(armed(ttl)).Sure)
		r.wait(1)
		require.True(t, b.extended(armed(ttl)).Sure)
	})
}

func TestWhileARepairIsOnItsWayNothingIsSure(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		repaired, extended := b.repair(), b.extend()
		busy.end(nil, granted)
		r.expect(0, "repair k 1 7", "extend k 1").end(nil, noScript, armed(ttl))
		require.False(t, extended.reply(0).Sure, "the repair goes out again, by its source")
		again := r.expect(0, "eval k 1")
		extended = b.extend()
		again.end(nil, yes)
		repaired.requireReply(0, quorum.Confirmed, nil)
		r.expect(0, "extend k 1").end(nil, armed(ttl))
		require.True(t, extended.reply(0).Sure)
	})
}

// aged is an attempt that was granted a moment ago. The clock is not at its start: there nothing could have been armed.
func aged(t *testing.T, f func(*testing.T, *rig, *bid)) {
	t.Helper()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.wait(time.Second)
		b := r.holding("k", "1")
		r.wait(3 * time.Second)
		f(t, r, b)
	})
}

func TestShortIsWhatIsMissingFromTheLastAcknowledgedArming(t *testing.T) {
	t.Parallel()
	aged(t, func(t *testing.T, r *rig, b *bid) {
		require.Zero(t, b.extended(armed(7*time.Second)).Short)
		r.wait(3 * time.Second)
		require.Equal(t, 5*time.Second, b.extended(armed(2*time.Second)).Short)
		require.Zero(t, b.extended(armed(ttl)).Short, "which armed it all the same")
	})
}

func TestShortIsInDoubtByTheWayOfQuestionAndAnswer(t *testing.T) {
	t.Parallel()
	aged(t, func(t *testing.T, r *rig, b *bid) {
		h := b.extend()
		under := r.expect(0, "extend k 1")
		r.wait(100 * ms)
		under.end(nil, armed(7*time.Second))
		require.Equal(t, -100*ms, h.reply(0).Short)
		r.wait(time.Second)
		// It was armed no earlier than it left, so 1.1 s may be gone.
		require.Zero(t, b.extended(armed(8900*ms)).Short)
	})
}

func TestWhatDidNotArmIsNoArmingToCountFrom(t *testing.T) {
	t.Parallel()
	for name, nothing := range map[string]struct {
		reply
		error
	}{"silence": {silent, errReset}, "an error": {readOnly, nil}, "gone": {gone, nil}, "a wrong shape": {yes, nil}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aged(t, func(t *testing.T, r *rig, b *bid) {
				b.extend()
				r.expect(0, "extend k 1").end(nothing.error, nothing.reply)
				r.wait(time.Second)
				require.Zero(t, b.extended(armed(6*time.Second)).Short)
			})
		})
	}
}

func TestARepairArmsTheKeys(t *testing.T) {
	t.Parallel()
	aged(t, func(t *testing.T, r *rig, b *bid) {
		b.extended(gone)
		b.repair()
		r.expect(0, "repair k 1 7").end(nil, yes)
		r.wait(time.Second)
		require.Zero(t, b.extended(armed(9*time.Second)).Short)
	})
}

func TestWhereNothingWasAcknowledgedNothingIsShort(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.wait(time.Second)
		b := r.doubtful("k", "1", ttl)
		require.Zero(t, b.extended(armed(ms)).Short)
		r.wait(time.Second)
		require.Equal(t, 9*time.Second-ms, b.extended(armed(ms)).Short)
	})
}
