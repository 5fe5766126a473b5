package node

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestTheAnswersToAQuestionAreReadByTheirShape(t *testing.T) {
	t.Parallel()
	type say struct {
		of  quorum.Confirmation
		err error
	}
	bad := say{quorum.Unconfirmed, ErrShape}
	ok, lost := say{quorum.Confirmed, nil}, say{quorum.Gone, nil}
	for name, tt := range map[string]struct {
		reply
		extend, raise say
	}{
		"a list of one and a life":    {armed(ttl), ok, bad},
		"a list of one and no life":   {armed(0), ok, bad},
		"one":                         {yes, bad, ok},
		"zero":                        {no, bad, lost},
		"minus one":                   {foreign, bad, lost},
		"a list of zero":              {gone, lost, bad},
		"a list of minus one":         {another, lost, bad},
		"two":                         {value(int64(2)), bad, bad},
		"nothing":                     {value(nil), bad, bad},
		"the nil reply":               {refused, bad, bad},
		"OK":                          {granted, bad, bad},
		"a text that reads 1":         {value("1"), bad, bad},
		"true":                        {value(true), bad, bad},
		"an empty list":               {value([]any{}), bad, bad},
		"a list of one":               {value([]any{int64(1)}), bad, bad},
		"a list of three":             {value([]any{int64(1), int64(5), int64(5)}), bad, bad},
		"a list of zero and a life":   {value([]any{int64(0), int64(5)}), bad, bad},
		"a list in a list":            {value([]any{[]any{int64(1)}, int64(5)}), bad, bad},
		"a list with text for a life": {value([]any{int64(1), "5"}), bad, bad},
		"a list with nothing":         {value([]any{int64(1), nil}), bad, bad},
		"a list of text":              {value([]any{"1", int64(5)}), bad, bad},
		"a life below zero":           {value([]any{int64(1), int64(-1)}), bad, bad},
		"an error":                    {readOnly, say{quorum.Unconfirmed, errReadOnly}, say{quorum.Unconfirmed, errReadOnly}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				extended := b.extend()
				r.expect(0, "extend k 1").end(nil, tt.reply)
				extended.requireReply(0, tt.extend.of, tt.extend.err)
				raised := b.raise(7)
				r.expect(0, "raise k 1 7").end(nil, tt.reply)
				raised.requireReply(0, tt.raise.of, tt.raise.err)
				r.requireDebts(0)
			})
		})
	}
}

func TestGoneTellsWhetherItIsSomebodyElses(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		for said, isForeign := range map[int64]bool{0: false, -1: true} {
			extended := b.extend()
			r.expect(0, "extend k 1").end(nil, value([]any{said}))
			require.Equal(t, quorum.Gone, extended.reply(0).Confirmation)
			raised := b.raise(7)
			r.expect(0, "raise k 1 7").end(nil, value(said))
			require.Equal(t, isForeign, extended.reply(0).Foreign)
			require.Equal(t, isForeign, raised.reply(0).Foreign)
		}
	})
}

func TestAQuestionIsUnconfirmedWhereItWasNotAnswered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply
		error
	}{"silence": {silent, errTimeout}, "a refused dial": {notAsked, errRefusedDial}, "no word": {silent, errUnanswered}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				h := b.extend()
				r.expect(0, "extend k 1").end(tt.error, tt.reply)
				h.requireReply(0, quorum.Unconfirmed, tt.error)
				r.requireDebts(0)
				b.release()
				r.expect(0, "release k 1").end(nil, deleted)
				b.requireAnswer(0, 1, quorum.Deleted, false)
			})
		})
	}
}

func TestEveryNodeIsHeardOnceOfAQuestionAlsoThoseThatAreNotAsked(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		at := r.makeSuspect(0)
		for _, h := range []*hearing{b.extend(), b.raise(7)} {
			h.requireReply(0, quorum.Unconfirmed, ErrSuspect)
			h.requireReply(1, quorum.Confirmed, nil)
			h.requireReply(2, quorum.Confirmed, nil)
		}
		r.expectAt(0, at, "ping").end(nil, pong)
	}, confirming, confirming)
}

// confirming is a node that grants and confirms everything.
var confirming = each(func(c *Command) reply {
	if c.args[0] == "evalsha" && c.args[1] == extendScript.hash {
		return armed(ttl)
	}
	return healthy(c)
})

func TestAQuestionPastItsDeadlineIsNotSent(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.holding("k", "1")
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		late, inTime := b.extendFor(50*ms), b.extendFor(51*ms)
		r.wait(50 * ms)
		busy.end(nil, granted)
		r.expect(0, "extend k 1").end(nil, armed(ttl))
		late.requireReply(0, quorum.Unconfirmed, ErrLate)
		inTime.requireReply(0, quorum.Confirmed, nil)
	})
}

func TestWhatANodeHoldsIsReadByItsShape(t *testing.T) {
	t.Parallel()
	list := func(of ...any) reply { return value(of) }
	for name, tt := range map[string]struct {
		reply
		want *Holding // nil: the reply is of the wrong shape
	}{
		"a lock":                    {list("1", int64(1500), "9", int64(2)), &Holding{"1", 1500 * ms, 9, 2}},
		"without a counter":         {list("1", int64(1500), nil, int64(2)), &Holding{"1", 1500 * ms, 0, 2}},
		"without an end":            {list("1", int64(-1), nil, int64(2)), &Holding{"1", -ms, 0, 2}},
		"nothing":                   {list(nil, int64(-2), nil, int64(2)), &Holding{"", -2 * ms, 0, 2}},
		"a counter of words":        {list("1", int64(1), "abc", int64(2)), &Holding{"1", ms, 0, 2}},
		"a counter out of range":    {list("1", int64(1), "99999999999999999999", int64(2)), &Holding{"1", ms, 0, 2}},
		"the largest counter":       {list("1", int64(1), "9223372036854775807", int64(2)), &Holding{"1", ms, math.MaxInt64, 2}},
		"a token that is a number":  {list(int64(1), int64(1), nil, int64(2)), nil},
		"a life that is text":       {list("1", "1500", nil, int64(2)), nil},
		"no life":                   {list("1", nil, nil, int64(2)), nil},
		"waiters that are no count": {list("1", int64(1), nil, "many"), &Holding{"1", ms, 0, 0}},
		"a list of three":           {list("1", int64(1), nil), nil},
		"a list of five":            {list("1", int64(1), nil, int64(2), nil), nil},
		"an empty list":             {list(), nil},
		"no list":                   {yes, nil},
		"no reply":                  {value(nil), nil},
		"the nil reply":             {refused, nil},
		"a list where a token goes": {list([]any{"1"}, int64(1), nil, int64(2)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				h, now := r.hearing(), r.clock.Now()
				r.Inspect("k", "~f:k", "~q:k", h, now, now+patience)
				r.expect(0, "inspect k ~f:k").end(nil, tt.reply)
				if tt.want == nil {
					h.requireReply(0, quorum.Unconfirmed, ErrShape)
					require.Zero(t, h.reply(0).Holding)
				} else {
					h.requireReply(0, quorum.Confirmed, nil)
					require.Equal(t, *tt.want, h.reply(0).Holding)
				}
				r.quietFor(0, patience)
			})
		})
	}
}
