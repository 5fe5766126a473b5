package redlock

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// condition is what a node does with a SET.
type condition uint8

const (
	grants condition = iota
	isTaken
	refusesConnection
	hangs
	conditions
)

func (c condition) String() string { return [...]string{"ok", "taken", "refused", "hung"}[c] }

// expected is the class as section 4.2 of the design defines it, for nodes of which none changes its mind.
func expected(nodes []condition) error {
	count := func(c condition) (n int) {
		for _, other := range nodes {
			if other == c {
				n++
			}
		}
		return n
	}
	quorum := len(nodes)/2 + 1
	switch {
	case count(grants) >= quorum:
		return nil
	case count(isTaken) >= len(nodes)-quorum+1:
		return ErrTaken
	default:
		return ErrNoQuorum
	}
}

// everySequence calls f with every sequence of n conditions. As node i answers before node i+1, these are all the distinct
// orders of arrival of all the mixes.
func everySequence(n int, f func([]condition)) (sequences, mixes int) {
	seen := make(map[string]bool)
	total := 1
	for range n {
		total *= int(conditions)
	}
	for i := range total {
		nodes := make([]condition, n)
		for j, rest := 0, i; j < n; j, rest = j+1, rest/int(conditions) {
			nodes[j] = condition(rest % int(conditions))
		}
		seen[fmt.Sprintf("%d", slices.Sorted(slices.Values(nodes)))] = true
		f(nodes)
	}
	return total, len(seen)
}

// arrange gives the masters their conditions; they answer one after the other.
func (c *cluster) arrange(nodes []condition, key string) {
	for i, state := range nodes {
		m, delay := c.masters[i], time.Duration(i+1)*time.Millisecond
		m.set(way{back: delay})
		switch state {
		case isTaken:
			m.hold(key, time.Hour)
		case refusesConnection:
			m.set(way{out: delay, down: errRefused})
		case hangs:
			m.set(way{lose: true})
		case grants, conditions:
		}
	}
}

func TestClassDependsOnTheNodesAndNotOnTheOrderOfTheirAnswers(t *testing.T) {
	t.Parallel()
	calls := map[string]func(*testing.T, *cluster) (*Lock, error){
		"TryLock": func(t *testing.T, c *cluster) (*Lock, error) {
			t.Helper()
			return c.TryLock(t.Context(), "k")
		},
		"Lock in its only attempt": func(t *testing.T, c *cluster) (*Lock, error) {
			t.Helper()
			return c.Lock(t.Context(), "k", WithMaxAttempts(1))
		},
		"Lock in its second attempt": func(t *testing.T, c *cluster) (*Lock, error) {
			t.Helper()
			return c.Lock(t.Context(), "k", WithMaxAttempts(2))
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sequences, mixes := everySequence(5, func(nodes []condition) {
				bubble(t, func(t *testing.T) {
					c := newCluster(t, 5)
					c.arrange(nodes, "k")
					lock, err := call(t, c)
					requireClass(t, expected(nodes), lock, err, nodes)
				})
			})
			require.Equal(t, 1024, sequences)
			require.Equal(t, 56, mixes)
		})
	}
}

// requireClass holds that the call came to the class, and to no other.
func requireClass(t *testing.T, class error, lock *Lock, err error, nodes []condition) {
	t.Helper()
	if class == nil {
		require.NoError(t, err, "%v", nodes)
		require.Positive(t, lock.Remaining())
		return
	}
	require.Nil(t, lock)
	require.ErrorIs(t, err, ErrNotAcquired)
	for _, other := range []error{ErrTaken, ErrNoQuorum, ErrTooSlow} {
		if other == class { //nolint:errorlint // the sentinel itself is meant
			require.ErrorIs(t, err, other, "%v", nodes)
		} else {
			require.NotErrorIs(t, err, other, "%v", nodes)
		}
	}
	missing := 0
	for _, c := range nodes {
		if c == refusesConnection || c == hangs {
			missing++
		}
	}
	e := quorumError(t, err)
	require.Equal(t, 5, e.Nodes)
	require.Equal(t, 3, e.Quorum)
	require.LessOrEqual(t, len(e.Errs), missing, "a vote is no error")
	if class == ErrNoQuorum { //nolint:errorlint // the sentinel itself is meant
		require.GreaterOrEqual(t, len(e.Errs), 5-3+1-e.Refused, "the nodes that are missing are named")
	}
}

// A quorum is a majority of what was configured: one of one, two of two, two of three, and so on.
func TestQuorumIsCountedFromTheConfiguredNodes(t *testing.T) {
	t.Parallel()
	for n, quorum := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4, 64: 33} {
		for up := range n + 1 {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, n)
				for _, m := range c.masters[up:] {
					m.set(way{down: errRefused})
				}
				lock, err := c.TryLock(t.Context(), "k")
				if up >= quorum {
					require.NoError(t, err)
					require.NoError(t, lock.Unlock(t.Context()))
					return
				}
				require.ErrorIs(t, err, ErrNoQuorum)
				require.NotErrorIs(t, err, ErrTaken)
				require.Equal(t, quorum, quorumError(t, err).Quorum)
				require.Equal(t, n, quorumError(t, err).Nodes)
			})
		}
	}
}
