package node

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestWhateverBefallsAClaimNothingOfItStaysAndNothingUntrueIsSaid(t *testing.T) {
	t.Parallel()
	for name, others := range map[string][]Transport{"a quorum of its own": nil, "others are a quorum": {healthy, healthy}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lives := 0
			synctest.Test(t, func(t *testing.T) {
				for c, more := new(choices), true; more; more = c.next() {
					lives++
					r, end := newRig(t, 1, others...)
					w := &world{rig: r, draw: c, store: newStore(), troubles: 2, greedy: len(others) > 0}
					w.play()
					require.Empty(t, w.wrong, "choices %v", c.picked)
					require.Equal(t, 1, w.votes, "choices %v", c.picked)
					require.Equal(t, w.gaveUp, w.answers, "choices %v", c.picked)
					require.Zero(t, w.Debts()[0], "choices %v", c.picked)
					end()
				}
			})
			t.Logf("%d lives", lives)
		})
	}
}
