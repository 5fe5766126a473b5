package quorum_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// shelf is what the nodes store of one key, and the last fence given out.
type shelf struct {
	counters [5]int64
	fence    int64 // -1: none yet
}

// grant raises the counters of the nodes in a mask as the script does, and
// returns their stamps. The nodes in took take the seed.
func (s *shelf) grant(nodes, took uint, seed, clock int64) []quorum.Stamp {
	stamps := make([]quorum.Stamp, 0, len(s.counters))
	for node := range s.counters {
		if nodes>>node&1 == 0 {
			continue
		}
		c, seeded := &s.counters[node], took>>node&1 == 1
		*c++
		if seeded {
			*c = max(*c, seed)
		}
		stamps = append(stamps, quorum.Stamp{Counter: *c, Time: clock, Seeded: seeded})
	}
	return stamps
}

// write stores a fence on the nodes in a mask, and returns how many have it.
func (s *shelf) write(nodes uint, fence int64) int {
	have := 0
	for node := range s.counters {
		if nodes>>node&1 == 1 {
			s.counters[node] = max(s.counters[node], fence)
		}
		if s.counters[node] >= fence {
			have++
		}
	}
	return have
}

// give gives a fence out, and returns an error unless it rose.
func (s *shelf) give(fence int64) error {
	if fence <= s.fence {
		return fmt.Errorf("a fence did not rise: %d after %d, counters %v", fence, s.fence, s.counters)
	}
	s.fence = fence
	return nil
}

// condition is what decides a fence besides the counters: a seed, who took it, and
// the nodes' clocks. They agree, since all that counts of them is their median.
type condition struct {
	seed, clock int64
	took        func(granting uint) uint
}

func nobody(uint) uint { return 0 }

// countersAlone is the condition under which neither seed nor clock counts.
var countersAlone = []condition{{0, 0, nobody}}

// allConditions returns seeds and clocks behind, among and ahead of the counters,
// the seed taken by nobody, by one, by all but one, and by all.
func allConditions() []condition {
	one := func(g uint) uint { return g & -g }
	rest := func(g uint) uint { return g & (g - 1) }
	all := func(g uint) uint { return g }
	list := []condition{{0, 0, nobody}, {0, 3, nobody}, {0, 5, nobody}}
	for _, took := range []func(uint) uint{one, rest, all} {
		list = append(list, condition{2, 0, took}, condition{4, 3, took}, condition{4, 5, took})
	}
	return list
}

// fenceModel tries every short history of acquisitions of one key.
type fenceModel struct {
	n          int
	writeBack  bool
	conditions []condition
	seen       map[shelf]int // the longest history that was tried from here
	held       int           // acquisitions
}

// try visits every history of so many attempts: any nodes grant under any
// condition. Fewer than a majority are an attempt that failed, and leave their
// counters raised. A fence that is not stored is written back, to any of the
// nodes that granted, and given out only if a majority has it then.
func (m *fenceModel) try(s shelf, attempts int) error {
	slices.Sort(s.counters[:m.n]) // the nodes are alike
	if attempts == 0 || m.seen[s] >= attempts {
		return nil
	}
	m.seen[s] = attempts
	for granting := uint(1); granting < 1<<m.n; granting++ {
		for _, c := range m.conditions {
			granted := s
			stamps := granted.grant(granting, c.took(granting), c.seed, c.clock)
			if err := m.acquire(granted, granting, stamps, attempts-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// acquire goes on with the attempt after the nodes granted.
func (m *fenceModel) acquire(s shelf, granting uint, stamps []quorum.Stamp, attempts int) error {
	if len(stamps) < majority(m.n) {
		return m.try(s, attempts)
	}
	fence, stored := quorum.Fence(m.n, stamps)
	if stored || !m.writeBack {
		m.held++
		if err := s.give(fence); err != nil {
			return err
		}
		return m.try(s, attempts)
	}
	for written := uint(0); written < 1<<m.n; written++ {
		if written&^granting != 0 {
			continue
		}
		next := s
		if next.write(written, fence) >= majority(m.n) {
			m.held++
			if err := next.give(fence); err != nil {
				return err
			}
		}
		if err := m.try(next, attempts); err != nil {
			return err
		}
	}
	return nil
}

// tryAll tries every history of so many attempts from every small counters.
func (m *fenceModel) tryAll(attempts int) error {
	m.seen = map[shelf]int{}
	var err error
	eachOf([]int64{0, 1, 2}, m.n, func(counters []int64) {
		s := shelf{fence: -1}
		copy(s.counters[:], counters)
		if err == nil {
			err = m.try(s, attempts)
		}
	})
	return err
}

func TestFencesRiseInEveryShortHistory(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		m := fenceModel{n: n, writeBack: true, conditions: allConditions()}
		require.NoError(t, m.tryAll(3), "%d nodes", n)
		require.NotZero(t, m.held)
		t.Logf("%d nodes: %d states, %d acquisitions", n, len(m.seen), m.held)
	}
}

// With counters alone it takes two majorities that differ; with clocks ahead of
// the counters a single node gives out what it does not store.
func TestFencesDoNotRiseWithoutTheWriteBack(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		m := fenceModel{n: n, conditions: countersAlone}
		if err := m.tryAll(3); n < 3 {
			require.NoError(t, err, "%d nodes: all majorities are the same", n)
		} else {
			require.ErrorContains(t, err, "a fence did not rise", "%d nodes", n)
		}
		m = fenceModel{n: n, conditions: allConditions()}
		require.ErrorContains(t, m.tryAll(3), "a fence did not rise", "%d nodes", n)
	}
}

// The history that shows why the largest counter alone is no fence: A on nodes 1,
// 2 and 3, B on 3, 4 and 5, C on 1, 2 and 4.
func TestThirdHolderGetsTheSecondOnesFenceWithoutTheWriteBack(t *testing.T) {
	t.Parallel()
	const a, b, c = 0b00111, 0b11100, 0b01011
	for _, writeBack := range [...]bool{false, true} {
		var s shelf
		fence, stored := quorum.Fence(5, s.grant(a, 0, 0, 0))
		require.EqualValues(t, 1, fence)
		require.True(t, stored, "all three returned it")

		fence, stored = quorum.Fence(5, s.grant(b, 0, 0, 0))
		require.EqualValues(t, 2, fence)
		require.False(t, stored, "node 3 alone returned it")
		want := 2
		if writeBack {
			require.Equal(t, 3, s.write(b, fence))
			want = 3
		}

		fence, _ = quorum.Fence(5, s.grant(c, 0, 0, 0))
		require.EqualValues(t, want, fence, "write-back %v", writeBack)
	}
}
