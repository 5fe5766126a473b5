package node

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// ghost makes the node owe the release of an attempt on these keys, whose fate is unknown.
func (r *rig) ghost(token string, keys ...string) *bid {
	r.t.Helper()
	b := r.bidOn(token, keys...)
	r.askFor(b, patience)
	r.expect(0, words(&Command{args: b.setArgs()})).end(errReset, silent)
	b.requireVote(0, quorum.Unknown, errReset)
	b.release()
	r.expect(0, words(&Command{args: b.giveUpArgs(0)})).end(nil, absent)
	b.answer(0, 1)
	return b
}

func TestADebtOfSeveralKeysIsOneAndGoesAlongWithAnAttemptOnAnyOfThem(t *testing.T) {
	t.Parallel()
	for set, keys := range map[string][]string{
		"set a 2": {"a"}, "set b 2": {"b"}, "set c 2": {"c"}, "acquire a,c 2": {"a", "c"}, "acquire a,b,c 2": {"a", "b", "c"},
		"acquire b,x 2": {"b", "x"},
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				r.ghost("1", "a", "b", "c")
				r.requireDebts(1)
				b := r.bidOn("2", keys...)
				r.askFor(b, patience)
				r.expectAt(0, 0, "release a,b,c 1", set).end(nil, absent, no)
				b.vote(0)
				r.requireDebts(1)
			})
		})
	}
}

func TestARefusalOnAnyKeyOfADebtIsUnknown(t *testing.T) {
	t.Parallel()
	for set, tt := range map[string]struct {
		keys  []string
		vote  quorum.Vote
		cause error
	}{
		"acquire a,x 2": {[]string{"a", "x"}, quorum.Unknown, ErrOwed},
		"acquire x,c 2": {[]string{"x", "c"}, quorum.Unknown, ErrOwed},
		"acquire x,y 2": {[]string{"x", "y"}, quorum.Refused, nil},
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				r.ghost("1", "a", "b", "c")
				b := r.bidOn("2", tt.keys...)
				r.askFor(b, patience)
				left, _ := r.next(0)
				require.Equal(t, set, left.words()[len(left.cmds)-1])
				left.end(nil, slices.Repeat([]reply{no}, len(left.cmds))...)
				b.requireVote(0, tt.vote, tt.cause)
				b.release()
				b.requireAnswer(0, 1, quorum.Clear, false)
			})
		})
	}
}

func TestARefusalBehindAReleaseOfSeveralKeysThatHadNoScriptIsUnknown(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		held := r.bidOn("1", "a", "b")
		r.askFor(held, patience)
		r.expect(0, "acquire a,b 1").end(nil, yes)
		held.requireVote(0, quorum.Granted, nil)
		r.ask("x", "1")
		busy := r.expect(0, "set x 1")
		held.release()
		b, other := r.ask("b", "2"), r.ask("c", "2")
		busy.end(nil, granted)
		r.expect(0, "release a,b 1", "set b 2", "set c 2").end(nil, noScript, refused)
		b.requireVote(0, quorum.Unknown, ErrOwed)
		other.requireVote(0, quorum.Refused, nil)
		r.expect(0, "eval a,b 1").end(nil, deleted)
	})
}

func TestDebtsThatShareKeysAreFoundByEachAndDroppedInAnyOrder(t *testing.T) {
	t.Parallel()
	sets := [][]any{{"a", "b"}, {"b"}, {"b", "c"}, {"a", "c"}}
	for c, more := new(choices), true; more; more = c.next() {
		var d debts
		left := make([]*claim, len(sets))
		for i, keys := range sets {
			left[i] = &claim{attempt: &Attempt{Keys: keys, TTL: ttl}, state: stateGranted}
			d.owe(left[i], 0)
		}
		for len(left) > 0 {
			require.Equal(t, len(left), d.len)
			require.Len(t, d.heap, len(left))
			requireFound(t, &d, left)
			gone := c.pick(len(left))
			d.drop(left[gone])
			left = slices.Delete(left, gone, gone+1)
		}
		require.Empty(t, d.byKey)
		require.Zero(t, d.len)
		require.Empty(t, d.heap)
	}
}

// requireFound requires that each key leads to the debts that name it, and to no other.
func requireFound(t *testing.T, d *debts, claims []*claim) {
	t.Helper()
	for _, key := range []any{"a", "b", "c"} {
		var want, got []*claim
		for _, c := range slices.Backward(claims) {
			if slices.Contains(c.attempt.Keys, key) {
				want = append(want, c)
			}
		}
		for l := d.byKey[key]; l != nil; l = l.next {
			got = append(got, l.debt.claim)
		}
		require.Equal(t, want, got, "the newest comes first")
		require.Equal(t, len(want) > 0, d.has([]any{"x", key}))
	}
}

func TestForgettingDebtsOfSeveralKeysForgetsThemAll(t *testing.T) {
	t.Parallel()
	var d debts
	a := &claim{attempt: &Attempt{Keys: []any{"a", "b"}, TTL: ttl}}
	b := &claim{attempt: &Attempt{Keys: []any{"b"}, TTL: 2 * ttl}}
	d.owe(a, 0)
	d.owe(b, 0)
	require.Equal(t, 2*ttl, d.longest())
	d.clear()
	require.Nil(t, a.debt)
	require.Nil(t, b.debt)
	require.False(t, d.has([]any{"a", "b"}))
	require.Zero(t, d.len)
}
