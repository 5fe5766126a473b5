package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

var spot = &Queue{Key: "k", List: "~q:k", Channels: "~w:", ID: "id"}

// enqueue is what is heard of entering the queue at node 0.
func (r *rig) enqueue(front, always bool) *hearing {
	h, now := r.hearing(), r.clock.Now()
	r.Enqueue(0, spot, front, always, h, now, now+patience)
	return h
}

func (r *rig) quit(pass bool) *hearing {
	h, now := r.hearing(), r.clock.Now()
	r.Quit(0, spot, pass, h, now, now+patience)
	return h
}

func TestEnteringAQueueSaysWhereAndWhy(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		for want, how := range map[string][2]bool{
			"queue k ~q:k id 0 0": {false, false}, "queue k ~q:k id 1 0": {true, false},
			"queue k ~q:k id 0 1": {false, true}, "queue k ~q:k id 1 1": {true, true},
		} {
			h := r.enqueue(how[0], how[1])
			r.expect(0, want).end(nil, value([]any{int64(1), int64(0), int64(1), int64(5000)}))
			require.Equal(t, []any{int64(1), int64(0), int64(1), int64(5000)}, h.reply(0).Queue)
			require.NoError(t, h.reply(0).Err)
		}
		r.quietFor(0, 2*ttl)
	})
}

// Who is served needs no more than to be taken off; who gives up may have been named.
func TestLeavingAQueuePassesOnWhatItWasTold(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		h := r.quit(false)
		r.expect(0, "lrem ~q:k 0 id").end(nil, value(int64(1)))
		require.NoError(t, h.reply(0).Err)
		h = r.quit(true)
		r.expect(0, "quit k id  ~w: ~q:k").end(nil, value([]any{int64(0), int64(1), "other"}))
		require.Equal(t, []any{int64(0), int64(1), "other"}, h.reply(0).Queue)
		r.quietFor(0, 2*ttl)
	})
}

func TestWhatAQueueAnswersIsHandedOnOfAnyShape(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply
		error
		want  []any
		cause error
	}{
		"an empty list":  {value([]any{}), nil, []any{}, nil},
		"texts":          {value([]any{"a", nil}), nil, []any{"a", nil}, nil},
		"a number":       {value(int64(3)), nil, nil, nil},
		"a status":       {granted, nil, nil, nil},
		"an error":       {readOnly, nil, nil, errReadOnly},
		"silence":        {silent, errReset, nil, errReset},
		"a refused dial": {notAsked, errRefusedDial, nil, errRefusedDial},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				h := r.enqueue(false, false)
				r.expect(0, "queue k ~q:k id 0 0").end(tt.error, tt.reply)
				require.Equal(t, tt.want, h.reply(0).Queue)
				require.ErrorIs(t, h.reply(0).Err, tt.cause)
				r.requireDebts(0)
				r.quietFor(0, 2*ttl) // an answer that is missing is nothing that is owed
			})
		})
	}
}

func TestAQueueThatCannotBeAskedSaysSoAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		h, now := r.hearing(), r.clock.Now()
		r.Enqueue(0, spot, false, false, h, now, now+20*ms)
		r.wait(20 * ms)
		busy.end(nil, granted)
		h.requireReply(0, quorum.Unconfirmed, ErrLate)
		r.quiet(0)

		r.ask("x", "1")
		r.expect(0, "set x 1")
		for range maxQueue {
			r.ask("x", "1")
		}
		require.ErrorIs(t, r.enqueue(false, false).reply(0).Err, ErrQueueFull)
		require.ErrorIs(t, r.quit(true).reply(0).Err, ErrQueueFull)
	})
}

func TestNobodyWaitsAtANodeThatIsSuspect(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, r *rig) {
		r.ask("k", "1")
		r.expect(1, "set k 1").end(nil, granted)
		r.expect(2, "set k 1").end(nil, granted)
		require.False(t, r.Suspect(0))
		r.wait(nodeTimeout + 1)
		h := r.enqueue(false, false)
		require.ErrorIs(t, h.reply(0).Err, ErrSuspect)
		require.True(t, r.Suspect(0))
		require.False(t, r.Suspect(1))
		r.expect(0, "set k 1").end(nil, granted)
		r.wait(0)
		require.False(t, r.Suspect(0))
		h = r.enqueue(false, false)
		r.expect(0, "queue k ~q:k id 0 0").end(nil, value([]any{int64(0)}))
		require.NoError(t, h.reply(0).Err)
	})
}

func TestAfterNoScriptAQueueIsAskedBySource(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		in, out := r.enqueue(false, false), r.hearing()
		left := r.expect(0, "queue k ~q:k id 0 0")
		now := r.clock.Now()
		r.Quit(0, spot, true, out, now, now+patience)
		left.end(nil, noScript)
		next, _ := r.next(0)
		require.Equal(t, []any{"eval", queueScript.source}, next.cmds[0].args[:2])
		require.Equal(t, quitScript.hash, next.cmds[1].args[1], "they stay in their order")
		next.end(nil, value([]any{int64(0)}), noScript)
		require.Equal(t, []any{int64(0)}, in.reply(0).Queue)
		last, _ := r.next(0)
		require.Equal(t, []any{"eval", quitScript.source}, last.cmds[0].args[:2])
		last.end(nil, value([]any{int64(-1), int64(0)}))
		require.Equal(t, []any{int64(-1), int64(0)}, out.reply(0).Queue)
	})
}

// What a waiter still has to say after Close goes nowhere: its client may be closed.
func TestAfterCloseNoQueueIsAsked(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		require.NoError(t, r.Close(t.Context()))
		require.ErrorIs(t, r.enqueue(false, false).reply(0).Err, ErrClosed)
		require.ErrorIs(t, r.quit(true).reply(0).Err, ErrClosed)
		r.quietFor(0, 2*ttl)
	})
}
