package quorum_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// state is what a node does with a lock that is asked for.
type state int

const (
	fine state = iota
	taken
	refused
	hung
	states
)

func (s state) String() string { return [...]string{"fine", "taken", "refused", "hung"}[s] }

// mixes returns every mix of the states over n nodes, without regard to their order.
func mixes(n int, from state) [][]state {
	if n == 0 {
		return [][]state{nil}
	}
	var found [][]state
	for s := from; s < states; s++ {
		for _, rest := range mixes(n-1, s) {
			found = append(found, append([]state{s}, rest...))
		}
	}
	return found
}

// expected is the class by its definition: a majority granted, or so many refused that no majority is left, or neither.
func expected(mix []state) error {
	counts := make(map[state]int)
	for _, s := range mix {
		counts[s]++
	}
	switch {
	case counts[fine] >= 3:
		return nil
	case counts[taken] >= 3:
		return redlock.ErrTaken
	default:
		return redlock.ErrNoQuorum
	}
}

// F52: whatever mix of states the five nodes are in, and in whatever order they answer, the class is the same. In-process
// tests try every order; this tries some on real masters.
func TestClassOfEveryMixOfNodeStates(t *testing.T) {
	t.Parallel()
	all := mixes(5, 0)
	require.Len(t, all, 56)
	for order := range 3 {
		t.Run(fmt.Sprintf("order %d", order), func(t *testing.T) {
			t.Parallel()
			tr := begin(t)
			random := rand.New(rand.NewPCG(uint64(order), 52))
			for i, mix := range all {
				var err error
				for try := range 5 { // a node that is fine must not be late because the machine is
					w := watchTimers()
					err = tr.classOf(mix, random, fmt.Sprintf("k%d-%d", i, try))
					if w.close() < matrixTimeout/20 || err == nil {
						break
					}
				}
				require.NoError(t, err)
			}
		})
	}
}

const matrixTimeout = 600 * time.Millisecond

// classOf tries a lock on nodes in these states, in random places and with random delays, and holds the class against the
// definition.
func (tr *trial) classOf(mix []state, random *rand.Rand, key string) error {
	tr.t.Helper()
	l := tr.open(redlock.WithNodeTimeout(matrixTimeout))
	tr.warm(l)
	places := random.Perm(5)
	for j, s := range mix {
		tr.arrange(places[j], s, key)
		tr.Nodes[places[j]].Proxy().Delay(0, time.Duration(random.IntN(5)*4)*time.Millisecond)
	}
	lock, err := l.TryLock(tr.t.Context(), key)
	var wrong error
	for _, class := range []error{redlock.ErrTaken, redlock.ErrNoQuorum, redlock.ErrTooSlow} {
		if (class == expected(mix)) != errors.Is(err, class) { //nolint:errorlint // the very sentinel
			wrong = fmt.Errorf("%v on %v: %w", mix, places, err)
		}
	}
	if lock != nil {
		_ = unlockAgain(tr.t, lock) // it is the class that is looked at
	}
	tr.atAll((*testcluster.Proxy).Pass)
	require.True(tr.t, until(generous, func() bool { return len(tr.holders(key)) == 0 }))
	tr.free(key)
	return wrong
}

// arrange brings a node into a state.
func (tr *trial) arrange(node int, s state, key string) {
	tr.t.Helper()
	switch s {
	case taken:
		tr.take(key, time.Minute, node)
	case refused:
		tr.Nodes[node].Proxy().Refuse(true)
		tr.Nodes[node].Proxy().Reset()
	case hung:
		tr.Nodes[node].Proxy().BlackHole(true)
	case fine, states:
	}
}
