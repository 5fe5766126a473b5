package node

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

var lives = map[string]life{
	"plain":                   {keys: []any{"k"}},
	"several keys":            {keys: []any{"j", "k"}},
	"several keys, no script": {keys: []any{"j", "k"}, strict: true},
	"left":                    {keys: []any{"k"}, end: Leave},
	"taken over":              {keys: []any{"k"}, from: "0", end: Restore},
	"taken over, and deleted": {keys: []any{"k"}, from: "0"},

	"handed on":                         {keys: []any{"k"}, handed: true},
	"several keys, no script, handed":   {keys: []any{"j", "k"}, strict: true, handed: true},
	"taken over, deleted and handed on": {keys: []any{"k"}, from: "0", handed: true},
}

// inAllLives plays lives of these kinds, each with a quorum of its own node and with others that are one.
func inAllLives(t *testing.T, kinds map[string]life, draw func() *choices, play func(*world), troubles int) {
	t.Helper()
	for who, others := range map[string][]Transport{"a quorum of its own": nil, "others are a quorum": {healthy, healthy}} {
		for name, kind := range kinds {
			t.Run(who+", "+name, func(t *testing.T) {
				t.Parallel()
				count := 0
				synctest.Test(t, func(t *testing.T) {
					for c, more := draw(), true; more; more = c.next() {
						count++
						r, end := newRig(t, 1, others...)
						w := &world{rig: r, life: kind, draw: c, troubles: troubles, greedy: len(others) > 0}
						play(w)
						w.require()
						end()
					}
				})
				t.Logf("%d lives", count)
			})
		}
	}
}

// require holds the whole life against what must be true of each.
func (w *world) require() {
	w.t.Helper()
	require.Empty(w.t, w.wrong, "choices %v", w.draw.picked)
	require.Equal(w.t, 1, w.votes, "choices %v", w.draw.picked)
	require.Equal(w.t, w.gaveUp, w.answers, "choices %v", w.draw.picked)
	require.Equal(w.t, w.asked, w.heard, "choices %v", w.draw.picked)
	require.Equal(w.t, map[bool]int{true: w.gaveUp}[w.handed], w.hands, "choices %v", w.draw.picked)
	require.LessOrEqual(w.t, w.repairs, 1, "choices %v", w.draw.picked)
	require.Zero(w.t, w.Debts()[0], "choices %v", w.draw.picked)
}

func TestWhateverBefallsAClaimNothingOfItStaysAndNothingUntrueIsSaid(t *testing.T) {
	t.Parallel()
	inAllLives(t, lives, func() *choices { return new(choices) }, (*world).play, 2)
}
