package node

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestAVoteIsUnsentOnlyWhereItIsCertain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		reply reply
		err   error // of the batch
		vote  quorum.Vote
		cause error
	}{
		{"dialling failed", notAsked, errRefusedDial, quorum.Unsent, errRefusedDial},
		{"nothing went wrong, and nothing was asked", notAsked, nil, quorum.Unsent, errUnanswered},
		{"the error of a greeting on a command that was not asked", func(c *Command) { c.SetErr(replyError("WRONGPASS")) }, replyError("WRONGPASS"), quorum.Unsent, replyError("WRONGPASS")},
		{"a greeting's refusal that left a zero value", func(c *Command) { c.SetVal(nil); c.SetErr(nil) }, replyError("NOAUTH"), quorum.Unsent, replyError("NOAUTH")},
		{"the connection broke", silent, errReset, quorum.Unknown, errReset},
		{"no answer in time", silent, errTimeout, quorum.Unknown, errTimeout},
		{"asked, and the batch came back without a word", silent, nil, quorum.Unknown, errUnanswered},
		{"the client's error on the command", failed(errReset), errReset, quorum.Unknown, errReset},
		{"a wrapped error reply", failed(wrapped{replyError("NOAUTH")}), errReset, quorum.Unknown, errReset},
		{"an error reply", readOnly, errReset, quorum.Unknown, errReadOnly},
		{"NOSCRIPT to a SET", noScript, nil, quorum.Unknown, replyError("NOSCRIPT No matching script. Please use EVAL.")},
		{"no", refused, nil, quorum.Refused, nil},
		{"yes", granted, nil, quorum.Granted, nil},
		{"yes, and then the connection broke", granted, errReset, quorum.Granted, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.ask("k", "1")
				r.expect(0, "set k 1").end(tt.err, tt.reply)
				got := b.vote(0)
				require.Equal(t, tt.vote, got.Vote)
				if tt.cause == nil {
					require.NoError(t, got.cause)
				} else {
					require.EqualError(t, got.cause, tt.cause.Error())
				}
			})
		})
	}
}

// wrapped is an error reply in the client's own words, as those of a greeting are.
type wrapped struct{ error }

func (w wrapped) Error() string { return "failed to initialize connection: " + w.error.Error() }
func (w wrapped) Unwrap() error { return w.error }

func TestAnErrorReplyIsUndoneOnceAndIsNoDebt(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string]reply{
		"answered": absent, "answered by an error": readOnly, "not answered": silent, "wrong shape": granted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.ask("k", "1")
				r.expect(0, "set k 1").end(nil, readOnly)
				b.requireVote(0, quorum.Unknown, errReadOnly)
				b.release()
				r.expect(0, "release k 1").end(errReset, undo)
				want, later := quorum.NoAnswer, quorum.Clear
				if name == "answered" {
					want, later = quorum.Absent, quorum.Absent
				}
				b.requireAnswer(0, 1, want, want == quorum.NoAnswer)
				require.Zero(t, r.Debts()[0])
				r.quietFor(0, 2*ttl)
				b.release()
				b.requireAnswer(0, 2, later, false)
				r.quiet(0)
			})
		})
	}
}

func TestAnUndoOfAnErrorReplyThatWasNotSentIsStillOwed(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		r.expect(0, "set k 1").end(nil, readOnly)
		b.release()
		r.expect(0, "release k 1").end(errRefusedDial, notAsked)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		r.expect(0, "release k 1").end(nil, readOnly)
		r.quietFor(0, 2*ttl)
		require.Zero(t, r.Debts()[0])
	})
}

func TestAReplyOfTheWrongShapeIsUnknownAndBecomesADebt(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]any{
		"integer":                       int64(1),
		"another's reply":               "PONG",
		"an empty string":               "",
		"the value OK in other letters": "ok",
		"nothing":                       nil,
		"array":                         []any{"OK"},
		"true":                          true,
		"double":                        1.0,
		"map":                           map[any]any{"OK": "OK"},
		"1 MB of noise":                 strings.Repeat("\x00\xff", 1<<19),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.ask("k", "1")
				r.expect(0, "set k 1").end(nil, value(odd))
				b.requireVote(0, quorum.Unknown, ErrShape)
				b.release()
				r.expect(0, "release k 1").end(nil, absent)
				b.requireAnswer(0, 1, quorum.Absent, true)
				require.Equal(t, 1, r.Debts()[0])
			})
		})
	}
}

func TestAReleaseAnsweredInTheWrongShapeBecomesADebt(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]any{
		"OK":            "OK",
		"a string 1":    "1",
		"two":           int64(2),
		"nothing":       nil,
		"array":         []any{int64(1)},
		"true":          true,
		"1 MB of noise": strings.Repeat("\x00\xff", 1<<19),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.ask("k", "1")
				r.expect(0, "set k 1").end(nil, granted)
				b.release()
				r.expect(0, "release k 1").end(nil, value(odd))
				b.requireAnswer(0, 1, quorum.NoAnswer, true)
				require.ErrorIs(t, b.answer(0, 1).cause, ErrShape)
				require.Equal(t, 1, r.Debts()[0])
				// One answer that makes sense ends it, since the SET was answered.
				r.expect(0, "release k 1").end(nil, absent)
				r.quietFor(0, 2*ttl)
				require.Zero(t, r.Debts()[0])
			})
		})
	}
}

func TestANullReplyToAReleaseIsOfTheWrongShape(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		r.expect(0, "set k 1").end(nil, granted)
		b.release()
		r.expect(0, "release k 1").end(nil, refused)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		require.ErrorIs(t, b.answer(0, 1).cause, ErrShape)
	})
}

func TestAVoteCarriesTheTimeItsBatchCameBack(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		r.wait(123456)
		set.end(nil, granted)
		require.EqualValues(t, 123456, b.vote(0).at)
	})
}

func TestNoCommandShowsItsArguments(t *testing.T) {
	t.Parallel()
	var c Command
	require.Empty(t, c.Name())
	c.reset([]any{"set", "key", "secret"})
	require.Equal(t, "set", c.Name())
	require.Equal(t, "set", c.FullName())
	require.Equal(t, "set", c.String())
	c.reset([]any{1})
	require.Empty(t, c.Name())
}
