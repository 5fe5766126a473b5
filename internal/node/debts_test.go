package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// owe makes the node owe the releases of so many granted claims, due in an hour.
func (r *rig) owe(node, count int, key func(int) string) []*claim {
	n := r.lanes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	attempts, claims := make([]Attempt, count), make([]*claim, count)
	for i := range claims {
		attempts[i] = Attempt{Keys: []any{key(i)}, Token: "ghost", TTL: ttl}
		claims[i] = &claim{attempt: &attempts[i], state: stateGranted}
		n.debts.owe(claims[i], r.clock.Now()+time.Hour)
	}
	return claims
}

func sameKey(int) string  { return "k" }
func ownKey(i int) string { return fmt.Sprint("key", i) }
func due(d *debts, at time.Duration) {
	for _, e := range d.heap { // equal times keep the heap a heap
		e.due = at
	}
}

func TestAnAttemptTakesItsKeysDebtsAlongAheadOfItsSet(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.doubtful("k", "1", ttl).release()
		r.expect(0, "release k 1").end(nil, absent)
		r.holding("other", "1").release()
		r.expect(0, "release other 1").end(errReset, silent)
		r.requireDebts(2)
		// Neither is due yet: the one waits for its schedule, the other for the node's pause.
		b := r.ask("k", "2")
		r.expectAt(0, 0, "release k 1", "set k 2").end(nil, deleted, granted)
		b.requireVote(0, quorum.Granted, nil)
		r.expectAt(0, 0, "release other 1").end(nil, deleted)
		r.expectAt(0, 50*ms, "release k 1").end(nil, foreign)
	})
}

func TestTwoAttemptsInOnePipelineTakeADebtAlongOnce(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.doubtful("k", "1", ttl).release()
		r.expect(0, "release k 1").end(nil, absent)
		r.requireDebts(1)
		r.ask("x", "1")
		first := r.expect(0, "set x 1")
		r.ask("k", "2").release()
		r.ask("k", "3")
		first.end(nil, granted)
		r.expect(0, "release k 1", "set k 2", "release k 2", "set k 3").end(nil, absent, granted, deleted, granted)
	})
}

func TestARefusalByANodeThatOwesOnThatKeyIsUnknown(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.doubtful("k", "1", ttl).release()
		r.expect(0, "release k 1").end(nil, absent)
		r.requireDebts(1)
		b := r.ask("k", "2")
		r.expect(0, "release k 1", "set k 2").end(nil, absent, refused)
		b.requireVote(0, quorum.Unknown, ErrOwed)
		b.release()
		b.requireAnswer(0, 1, quorum.Clear, false)
		other := r.ask("other", "2")
		r.expect(0, "set other 2").end(nil, refused)
		other.requireVote(0, quorum.Refused, nil)
	})
}

func TestARefusalIsARefusalOnceTheKeysDebtsWerePaidAheadOfIt(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.holding("k", "1").release()
		r.expect(0, "release k 1").end(errReset, silent)
		r.requireDebts(1)
		b := r.ask("k", "2")
		r.expect(0, "release k 1", "set k 2").end(nil, foreign, refused)
		b.requireVote(0, quorum.Refused, nil)
		r.requireDebts(0)
	})
}

func TestAPipelineCarriesABoundedNumberOfDebts(t *testing.T) {
	t.Parallel()
	t.Run("that are due", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			r.owe(0, 2*maxDebtBatch+1, ownKey)
			due(&r.lanes[0].debts, 0)
			r.ask("x", "1")
			first, _ := r.next(0)
			require.Len(t, first.cmds, maxDebtBatch+1)
			require.Equal(t, "set x 1", first.words()[maxDebtBatch], "callers are served beside them")
			first.end(nil, deleted)
			second, _ := r.next(0)
			require.Len(t, second.cmds, maxDebtBatch)
			second.end(nil, deleted)
			third, _ := r.next(0)
			require.Len(t, third.cmds, 1)
			third.end(nil, deleted)
			r.requireDebts(0)
		})
	})
	t.Run("that go along with attempts on their key", func(t *testing.T) {
		t.Parallel()
		bubble(t, 1, func(t *testing.T, r *rig) {
			r.owe(0, 2*maxDebtBatch, sameKey)
			r.ask("x", "1")
			busy := r.expect(0, "set x 1")
			b, other := r.ask("k", "1"), r.ask("k", "2")
			busy.end(nil, granted)
			both, _ := r.next(0)
			require.Len(t, both.cmds, maxDebtBatch+2)
			require.Equal(t, []string{"set k 1", "set k 2"}, both.words()[maxDebtBatch:])
			replies := make([]reply, maxDebtBatch)
			for i := range replies {
				replies[i] = absent
			}
			both.end(nil, append(replies, refused)...)
			other.requireVote(0, quorum.Unknown, ErrOwed)
			b.requireVote(0, quorum.Unknown, ErrOwed) // what did not find room may be what refused it
			r.requireDebts(maxDebtBatch)
		})
	})
}

func TestAFullTableOfDebtsStopsSetsAndDropsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		held, other := r.holding("held", "1"), r.holding("other", "1")
		r.owe(0, maxDebts, sameKey)
		b := r.ask("x", "1")
		b.requireVote(0, quorum.Unsent, ErrDebtsFull)
		b.release()
		b.requireAnswer(0, 1, quorum.Clear, false)

		// Releases still go, and what they leave owed is added all the same.
		held.release()
		r.expect(0, "release held 1").end(nil, deleted)
		held.requireAnswer(0, 1, quorum.Deleted, false)
		other.release()
		r.expect(0, "release other 1").end(nil, readOnly)
		r.requireDebts(maxDebts + 1)

		due(&r.lanes[0].debts, 0)
		r.wake(0)
		for paid := maxDebtBatch; paid <= 3*maxDebtBatch; paid += maxDebtBatch {
			pay, _ := r.next(0)
			require.Len(t, pay.cmds, maxDebtBatch)
			pay.end(nil, deleted)
			r.requireDebts(maxDebts + 1 - paid)
		}
		pay, _ := r.next(0)
		b = r.ask("x", "2") // there is room again
		pay.end(nil, deleted)
		next, _ := r.next(0)
		require.Equal(t, "set x 2", next.words()[len(next.cmds)-1])
		next.end(nil, granted)
		b.requireVote(0, quorum.Granted, nil)
	})
}

func TestADebtWhoseRepeatIsUnderWayIsNotScheduled(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		n := r.lanes[0]
		e := r.owe(0, 1, sameKey)[0].debt
		n.debts.use(e)
		require.Nil(t, n.debts.first())
		e.settle(&n.debts, true, 0) // the answer to another release of the same claim
		require.Nil(t, n.debts.first())
		e.inUse = false
		e.settle(&n.debts, true, 0)
		require.Same(t, e, n.debts.first())
		require.Equal(t, 50*ms, e.due)
	})
}

func TestADebtIsDroppedFromAnywhereInItsKeysList(t *testing.T) {
	t.Parallel()
	const count = 5
	for gone := range count {
		bubble(t, 1, func(t *testing.T, r *rig) {
			n := r.lanes[0]
			claims := r.owe(0, count, sameKey)
			n.debts.drop(claims[gone])
			n.debts.drop(claims[gone]) // a second time changes nothing
			var left []*claim
			for l := n.debts.byKey["k"]; l != nil; l = l.next {
				left = append(left, l.debt.claim)
			}
			require.Len(t, left, count-1)
			require.NotContains(t, left, claims[gone])
			for _, c := range claims {
				n.debts.drop(c)
			}
			require.Empty(t, n.debts.byKey)
			require.Empty(t, n.debts.heap)
			require.Zero(t, n.debts.len)
		})
	}
}

// wake starts the node's lane as its alarm would.
func (r *rig) wake(node int) {
	n := r.lanes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.start()
}
