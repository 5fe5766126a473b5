package quorum

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func hashes(names ...string) []uint64 {
	out := make([]uint64, len(names))
	for i, name := range names {
		out[i] = NameHash(name)
	}
	return out
}

func allUsable(int) bool { return true }

// In whatever order clients list the nodes, they come to the same one.
func TestTheCanaryDependsOnTheNamesAndNotOnTheirOrder(t *testing.T) {
	t.Parallel()
	names, turned := []string{"a:1", "b:1", "c:1", "d:1", "e:1"}, []string{"d:1", "a:1", "e:1", "c:1", "b:1"}
	for i := range 1000 {
		key := fmt.Sprint("k", i)
		require.Equal(t, names[Canary(key, hashes(names...), allUsable)], turned[Canary(key, hashes(turned...), allUsable)])
	}
}

func TestCanariesSpreadEvenlyOverTheNodesAndThoseOfOneThatIsGoneOverTheOthers(t *testing.T) {
	t.Parallel()
	const keys = 50_000
	nodes := hashes("10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379", "10.0.0.4:6379", "10.0.0.5:6379")
	counts, deputies := make([]int, 5), make([]int, 5)
	for i := range keys {
		key := fmt.Sprint("order:", i)
		at := Canary(key, nodes, allUsable)
		counts[at]++
		deputy := Canary(key, nodes, func(n int) bool { return n != 2 })
		if at == 2 {
			deputies[deputy]++
		} else {
			require.Equal(t, at, deputy, "the keys of the others stay where they are")
		}
	}
	for i, n := range counts {
		require.InDelta(t, keys/5, n, keys/5*0.05, "node %d", i)
		if i != 2 {
			require.InDelta(t, counts[2]/4, deputies[i], float64(counts[2])/4*0.1, "node %d", i)
		}
	}
	require.Zero(t, deputies[2])
}

func TestWithoutAUsableNodeTheCanaryIsThatOfAll(t *testing.T) {
	t.Parallel()
	nodes := hashes("a", "b", "c")
	for i := range 100 {
		key := fmt.Sprint(i)
		require.Equal(t, Canary(key, nodes, allUsable), Canary(key, nodes, func(int) bool { return false }))
	}
	require.Panics(t, func() { Canary("k", nil, allUsable) })
}
