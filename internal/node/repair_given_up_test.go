package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestARepairThatIsQueuedWhenTheLockIsGivenUpIsNeverSent(t *testing.T) {
	t.Parallel()
	for name, withdraw := range map[string]bool{"withdrawing": true, "for the sake of the votes": false} {
		for was, set := range before {
			t.Run(name+" "+was, func(t *testing.T) {
				t.Parallel()
				bubble(t, 1, func(t *testing.T, r *rig) {
					b := r.ask("k", "1")
					r.expect(0, "set k 1").end(errReset, set.set)
					b.vote(0)
					r.ask("x", "1")
					busy := r.expect(0, "set x 1")
					h := b.repair()
					b.giveUp(withdraw, patience)
					busy.end(nil, granted)
					b.requireGivenUp(after(was, "unsent"))
					h.requireSilence(0)
					b.vote(0)
				})
			})
		}
	}
}

func TestARepairThatIsUnderWayIsReleasedBehindItself(t *testing.T) {
	t.Parallel()
	for was, set := range before {
		for fate, answer := range fates {
			t.Run(was+" and "+fate, func(t *testing.T) {
				t.Parallel()
				bubble(t, 1, func(t *testing.T, r *rig) {
					b := r.ask("k", "1")
					r.expect(0, "set k 1").end(errReset, set.set)
					b.vote(0)
					h := b.repair()
					repair := r.expect(0, "repair k 1 7")
					b.giveUp(true, patience)
					r.quiet(0)
					repair.end(errReset, answer)
					b.requireGivenUp(after(was, fate))
					h.reply(0)
				})
			})
		}
	}
}

func TestAfterItWasGivenUpNothingOfALockIsRepaired(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*bid){
		"released": func(b *bid) { b.release() },
		"released, and not answered": func(b *bid) {
			b.release()
			b.r.expect(0, "release k 1").end(nil, readOnly)
		},
		"abandoned": func(b *bid) { b.r.Abandon(&b.Attempt) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				end(b)
				h := b.repair()
				for h.requireSilence(0); r.clock.Now() < 20*ms; r.wait(ms) {
					select {
					case left := <-r.nodes[0].batches:
						require.NotContains(t, left.words(), "repair k 1 7")
						left.end(nil, deleted)
					default:
					}
				}
				h.requireSilence(0)
			})
		})
	}
}

func TestAnAbandonedRepairIsTakenBackAndItsClaimIsAsItWas(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		h := b.repair()
		r.Abandon(&b.Attempt)
		busy.end(nil, granted)
		r.quietFor(0, patience)
		h.requireSilence(0)
		b.vote(0)
		b.release()
		r.expect(0, "release k 1").end(nil, deleted)
	})
}

func TestAnAbandonedSetIsTakenBackAndItsVoteIsHeard(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		b := r.ask("k", "1")
		r.Abandon(&b.Attempt)
		b.requireVote(0, quorum.Unsent, ErrWithdrawn)
		busy.end(nil, granted)
		r.quietFor(0, patience)
		b.vote(0)
	})
}

func TestAnAbandonedSetThatLeftStaysWhereItIs(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		r.Abandon(&b.Attempt)
		set.end(nil, granted)
		b.requireVote(0, quorum.Granted, nil)
		r.quietFor(0, patience)
		r.requireDebts(0)
	})
}

func TestOneSetOfATokenAtATimeIsOnItsWayToANode(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		b := r.ask("k", "1")
		b.repair().requireSilence(0) // its SET is queued
		busy.end(nil, granted)
		set := r.expect(0, "set k 1")
		b.repair().requireSilence(0) // and under way
		set.end(nil, granted)
		b.requireVote(0, quorum.Granted, nil)
		r.quiet(0)
		first := b.repair()
		second := b.repair()
		r.expect(0, "repair k 1 7").end(nil, yes)
		first.requireReply(0, quorum.Confirmed, nil)
		second.requireSilence(0)
		r.quietFor(0, patience)
	})
}

func TestARepairThatTheLaneDoesNotTakeIsNotHeardOf(t *testing.T) {
	t.Parallel()
	t.Run("suspect", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			b := r.holding("k", "1")
			at := r.makeSuspect(0)
			b.repair().requireSilence(0)
			r.expectAt(0, at, "ping").end(nil, pong)
			r.quiet(0)
			b.repair()
			r.expectAt(0, at, "repair k 1 7").end(nil, yes)
		}, healthy, healthy)
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			b := r.holding("k", "1")
			require.NoError(t, r.Close(t.Context()))
			b.repair().requireSilence(0)
			r.quiet(0)
			b.release()
			r.expect(0, "release k 1").end(nil, deleted)
		})
	})
}

func TestARepairPastItsDeadlineIsUnconfirmedAndNotSent(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		h := b.repairFor(50 * ms)
		r.wait(50 * ms)
		busy.end(nil, granted)
		r.quietFor(0, patience)
		h.requireReply(0, quorum.Unconfirmed, ErrLate)
		b.release()
		r.expect(0, "release k 1").end(nil, deleted)
	})
}

func TestARepairTakesItsKeysDebtsAlongAndARefusalByThemIsUnknown(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.doubtful("k", "0", ttl).release()
		r.expect(0, "release k 0").end(nil, absent)
		b := r.ask("k", "1")
		r.expect(0, "release k 0", "set k 1").end(nil, absent, granted)
		b.requireVote(0, quorum.Granted, nil)
		h := b.repair()
		r.expect(0, "release k 0", "repair k 1 7").end(nil, absent, no)
		h.requireReply(0, quorum.Unconfirmed, ErrOwed)
	})
}
