package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestAHandThatIsNeverSentOrHeardOfIsToldNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		error
		reply
		debts int
	}{
		"silence": {errReset, silent, 1}, "a refused dial": {errRefusedDial, notAsked, 1},
	} {
		bubble(t, 1, func(t *testing.T, r *rig) {
			b := r.holding("k", "1")
			h := b.handOver(true, patience, "~q:k")
			r.expect(0, "hand k 1 ~q:k").end(tt.error, tt.reply)
			b.requireAnswer(0, 1, quorum.NoAnswer, true)
			require.Equal(t, [][]any{nil}, h.told, name)
			r.requireDebts(tt.debts)
			r.expect(0, "release k 1").end(nil, deleted)
		})
	}
	bubble(t, 1, func(t *testing.T, r *rig) { // it waits past its deadline
		b := r.holding("k", "1")
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		h := b.handOver(true, 20*ms, "~q:k")
		r.wait(20 * ms)
		busy.end(nil, granted)
		r.expect(0, "release k 1").end(nil, deleted)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		require.Equal(t, [][]any{nil}, h.told)
	})
	bubble(t, 1, func(t *testing.T, r *rig) { // there is no room for it
		b := r.ask("k", "1")
		r.expect(0, "set k 1").end(nil, refused)
		b.vote(0)
		r.ask("x", "1")
		r.next(0)
		for range maxQueue {
			r.ask("x", "1")
		}
		h := b.handOver(true, patience, "~q:k")
		require.Equal(t, [][]any{nil}, h.told)
		b.requireAnswer(0, 1, quorum.Clear, false)
	})
}

func TestAfterNoScriptAHandGoesOutBySource(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		h := b.handOver(true, patience, "~q:k")
		first := r.expect(0, "hand k 1 ~q:k")
		next := r.ask("k", "2")
		first.end(nil, noScript)
		left, _ := r.next(0)
		require.Equal(t, []any{"eval", handScript.source}, left.cmds[0].args[:2])
		require.Equal(t, "set", left.cmds[1].Name(), "ahead of what comes after it")
		left.end(nil, value([]any{int64(1), int64(1), "id"}), granted)
		h.requireTold(int64(1), "id")
		b.requireAnswer(0, 1, quorum.Deleted, false)
		next.requireVote(0, quorum.Granted, nil)
	})
}
