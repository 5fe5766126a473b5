package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func (r *rig) acquire() *bid {
	b := r.bidOn("1", "a", "b")
	r.askFor(b, patience)
	return b
}

func TestASetWhoseScriptIsNotKnownGoesOutBySourceAheadOfWhatCameLater(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.acquire()
		set := r.expect(0, "acquire a,b 1")
		later := r.ask("x", "1")
		set.end(nil, noScript)
		r.expect(0, "eval a,b 1", "set x 1").end(nil, yes, granted)
		b.requireVote(0, quorum.Granted, nil)
		later.requireVote(0, quorum.Granted, nil)
		b.release()
		r.expect(0, "release a,b 1").end(nil, deleted)
		b.requireAnswer(0, 1, quorum.Deleted, false)
	})
}

func TestASetOfAnAttemptThatWasGivenUpDoesNotGoOutBySource(t *testing.T) {
	t.Parallel()
	for name, withdraw := range map[string]bool{"withdrawing": true, "for the sake of the votes": false} {
		t.Run("given up while it was under way, "+name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.acquire()
				set := r.expect(0, "acquire a,b 1")
				b.giveUp(withdraw, patience)
				set.end(nil, noScript)
				b.requireVote(0, quorum.Unsent, ErrLate)
				b.requireAnswer(0, 1, quorum.Clear, false)
				r.requireDebts(0)
				r.quietFor(0, 2*ttl)
			})
		})
	}
	t.Run("with its release in the same pipeline", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			r.ask("x", "1")
			busy := r.expect(0, "set x 1")
			b := r.acquire()
			b.release()
			busy.end(nil, granted)
			r.expect(0, "acquire a,b 1", "release a,b 1").end(nil, noScript)
			b.requireVote(0, quorum.Unsent, ErrLate)
			b.requireAnswer(0, 1, quorum.Clear, false)
			r.requireDebts(0)
			r.quietFor(0, 2*ttl)
		})
	})
	t.Run("and owed meanwhile, as the node was late", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			b := r.acquire()
			set := r.expect(0, "acquire a,b 1")
			r.wait(nodeTimeout + 1)
			b.release()
			r.requireDebts(1)
			set.end(nil, noScript)
			b.requireVote(0, quorum.Unsent, ErrLate)
			r.requireDebts(0)
			r.quietFor(0, 2*ttl)
		}, healthy, healthy)
	})
}

func TestASetDoesNotGoOutBySourcePastItsDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.bidOn("1", "a", "b")
		r.askFor(b, 30*ms)
		set := r.expect(0, "acquire a,b 1")
		r.wait(30 * ms)
		set.end(nil, noScript)
		b.requireVote(0, quorum.Unsent, ErrLate)
		b.release()
		b.requireAnswer(0, 1, quorum.Clear, false)
		r.quietFor(0, 2*ttl)
	})
}

func TestNoScriptToTheSourceOfASetIsAnErrorReply(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.acquire()
		r.expect(0, "acquire a,b 1").end(nil, noScript)
		r.expect(0, "eval a,b 1").end(nil, noScript)
		require.Equal(t, quorum.Unknown, b.vote(0).Vote)
		require.EqualError(t, b.vote(0).cause, "NOSCRIPT No matching script. Please use EVAL.")
		b.release()
		r.expect(0, "release a,b 1").end(errReset, silent) // undone once
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		r.requireDebts(0)
		r.quietFor(0, 2*ttl)
	})
}

func TestARepairWhoseScriptIsNotKnownGoesOutBySource(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		h := b.repair()
		r.expect(0, "repair k 1 7").end(nil, noScript)
		r.expect(0, "eval k 1").end(nil, yes)
		h.requireReply(0, quorum.Confirmed, nil)
	})
}

func TestARepairOfALockThatWasGivenUpDoesNotGoOutBySource(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*bid){
		"released": func(b *bid) { b.release() }, "abandoned": func(b *bid) { b.r.Abandon(&b.Attempt) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				h := b.repair()
				repair := r.expect(0, "repair k 1 7")
				end(b)
				repair.end(nil, noScript)
				h.requireReply(0, quorum.Unconfirmed, ErrLate)
				if name == "released" {
					r.expect(0, "release k 1").end(nil, deleted)
					b.requireAnswer(0, 1, quorum.Deleted, false)
				}
				r.quietFor(0, 2*ttl)
			})
		})
	}
}

func TestAQuestionWhoseScriptIsNotKnownGoesOutBySource(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.wait(time.Second)
		b := r.holding("k", "1")
		r.wait(time.Second)
		h := b.extend()
		r.expect(0, "extend k 1").end(nil, noScript)
		r.wait(time.Second)
		source := r.expect(0, "eval k 1")
		r.wait(time.Second)
		source.end(nil, armed(8*time.Second))
		require.Equal(t, -time.Second, h.reply(0).Short)
		require.Equal(t, 2*time.Second, r.clock.Now()-b.claims[0].armed, "by the source, that came later than the hash")
	})
}

func TestAQuestionDoesNotGoOutBySourcePastItsDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		h := b.extendFor(30 * ms)
		question := r.expect(0, "extend k 1")
		r.wait(30 * ms)
		question.end(nil, noScript)
		h.requireReply(0, quorum.Unconfirmed, ErrLate)
		r.quietFor(0, 2*ttl)
	})
}

func TestNoScriptToTheSourceOfAQuestionIsAnErrorReply(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		h := b.raise(7)
		r.expect(0, "raise k 1 7").end(nil, noScript)
		r.expect(0, "eval k 1").end(nil, noScript)
		require.Equal(t, quorum.Unconfirmed, h.reply(0).Confirmation)
		require.EqualError(t, h.reply(0).Err, "NOSCRIPT No matching script. Please use EVAL.")
		r.quietFor(0, 2*ttl)
	})
}
