package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestARepairIsConfirmedByItsOwnAnswerAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply
		error
		of    quorum.Confirmation
		cause error
	}{
		"one":                 {yes, nil, quorum.Confirmed, nil},
		"zero":                {no, nil, quorum.Gone, nil},
		"an error":            {readOnly, nil, quorum.Unconfirmed, errReadOnly},
		"silence":             {silent, errTimeout, quorum.Unconfirmed, errTimeout},
		"a refused dial":      {notAsked, errRefusedDial, quorum.Unconfirmed, errRefusedDial},
		"minus one":           {foreign, nil, quorum.Unconfirmed, ErrShape},
		"OK":                  {granted, nil, quorum.Unconfirmed, ErrShape},
		"a list of one":       {value([]any{int64(1)}), nil, quorum.Unconfirmed, ErrShape},
		"a stamp":             {value([]any{int64(1), int64(1), int64(1), int64(1)}), nil, quorum.Unconfirmed, ErrShape},
		"nothing":             {value(nil), nil, quorum.Unconfirmed, ErrShape},
		"the nil reply":       {refused, nil, quorum.Unconfirmed, ErrShape},
		"a text that reads 1": {value("1"), nil, quorum.Unconfirmed, ErrShape},
	} {
		for _, fenced := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				bubble(t, 1, func(t *testing.T, r *rig) {
					b := r.holding("k", "1")
					if fenced {
						b.Fencing = r.fencedBid("1", "k").Fencing
					}
					h := b.repair()
					r.expect(0, "repair k 1 7").end(tt.error, tt.reply)
					h.requireReply(0, tt.of, tt.cause)
					require.Equal(t, tt.of == quorum.Confirmed, h.reply(0).Sure)
					require.Equal(t, tt.of == quorum.Gone, h.reply(0).Foreign)
					b.requireVote(0, quorum.Granted, nil)
				})
			})
		}
	}
}

// before are the ways to a claim that a repair meets, and what it takes to be rid of it where the repair is never sent.
var before = map[string]struct {
	set     reply
	clear   bool // nothing is there, so nothing is sent
	doubted bool // an answered release does not settle it
}{
	"granted": {set: granted}, "refused": {set: refused, clear: true}, "errored": {set: readOnly},
	"unknown": {set: silent, doubted: true}, "unsent": {set: notAsked, clear: true},
}

// fates are what can become of a repair that left.
var fates = map[string]reply{
	"granted": yes, "refused": no, "errored": readOnly, "unknown": silent, "unsent": notAsked,
}

// after lists how a claim is to be released that was in one of the states of before when a repair came to one of fates: "clear",
// "once" or "doubted".
func after(was, fate string) string {
	of := func(set string) string {
		switch b := before[set]; {
		case b.clear:
			return "clear"
		case b.doubted:
			return "doubted"
		}
		return "once"
	}
	switch fate {
	case "refused", "unsent":
		return of(was)
	}
	if was == "unknown" {
		return "doubted"
	}
	return of(fate)
}

func TestAfterARepairTheClaimIsWhatBothOfItsSetsMayHaveMadeOfIt(t *testing.T) {
	t.Parallel()
	eachPairOfSets(t, (*bid).repair, "repair k 1 7")
}

// eachPairOfSets holds what a claim is after a SET of every fate and a second one of every fate, which goes out in these words.
func eachPairOfSets(t *testing.T, second func(*bid) *hearing, words string) {
	t.Helper()
	for was, set := range before {
		for fate, answer := range fates {
			t.Run(was+" and "+fate, func(t *testing.T) {
				t.Parallel()
				bubble(t, 1, func(t *testing.T, r *rig) {
					b := r.ask("k", "1")
					r.expect(0, "set k 1").end(errReset, set.set)
					b.vote(0)
					h := second(b)
					r.expect(0, words).end(errReset, answer)
					require.Equal(t, fate == "granted" && was != "unknown", h.reply(0).Sure)
					b.release()
					b.requireGivenUp(after(was, fate))
				})
			})
		}
	}
}

// requireGivenUp requires that the release that was just submitted is all that it takes, that it is not even sent, or that it
// is repeated whatever the answer.
func (b *bid) requireGivenUp(how string) {
	b.r.t.Helper()
	if how == "clear" {
		b.requireAnswer(0, 1, quorum.Clear, false)
		b.r.requireDebts(0)
		b.r.quietFor(0, 2*ttl)
		return
	}
	b.r.expect(0, "release k 1").end(nil, deleted)
	b.requireAnswer(0, 1, quorum.Deleted, how == "doubted")
	if how == "doubted" {
		b.r.requireDebts(1)
		b.r.expect(0, "release k 1").end(nil, absent)
		return
	}
	b.r.requireDebts(0)
	b.r.quietFor(0, 2*ttl)
}

func TestAReleaseThatIsLostBehindARepairIsOwed(t *testing.T) {
	t.Parallel()
	for fate, answer := range fates {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				b := r.holding("k", "1")
				b.repair()
				r.expect(0, "repair k 1 7").end(errReset, answer)
				b.release()
				r.expect(0, "release k 1").end(errReset, silent)
				b.requireAnswer(0, 1, quorum.NoAnswer, true)
				r.requireDebts(1)
				r.expect(0, "release k 1").end(nil, deleted)
			})
		})
	}
}

func TestARefusedRepairLeavesWhatIsOursOfSeveralKeysToItsRelease(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.bidOn("1", "a", "b")
		r.askFor(b, patience)
		r.expect(0, "acquire a,b 1").end(nil, yes)
		b.requireVote(0, quorum.Granted, nil)
		h := b.repair()
		r.expect(0, "repair a,b 1 7").end(nil, no) // b was lost, and another has it by now; a is ours still
		require.True(t, h.reply(0).Foreign)
		b.release()
		r.expect(0, "release a,b 1").end(nil, foreign)
		b.requireAnswer(0, 1, quorum.Foreign, false)
		r.requireDebts(0)
	})
}
