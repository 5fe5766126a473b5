package node

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// choices walks all sequences of choices that a test makes, as if it drew them at random; or, where they are too many, draws
// some.
type choices struct {
	picked, among []int
	at            int
	dice          *rand.Rand // nil: all
	left          int        // how many more are drawn
}

// pick is the next choice, from 0 to n-1.
func (c *choices) pick(n int) int {
	if c.at == len(c.picked) {
		first := 0
		if c.dice != nil {
			first = c.dice.IntN(n)
		}
		c.picked, c.among = append(c.picked, first), append(c.among, n)
	}
	c.at++
	return c.picked[c.at-1]
}

// next goes to the sequence after this one; it is false behind the last.
func (c *choices) next() bool {
	if c.dice != nil {
		c.left--
		c.at, c.picked, c.among = 0, nil, nil
		return c.left > 0
	}
	for c.at = 0; len(c.picked) > 0; {
		last := len(c.picked) - 1
		if c.picked[last]++; c.picked[last] < c.among[last] {
			return true
		}
		c.picked, c.among = c.picked[:last], c.among[:last]
	}
	return false
}

func TestTheChoicesAreAllSequences(t *testing.T) {
	t.Parallel()
	var got [][]int
	for c, more := new(choices), true; more; more = c.next() {
		first := c.pick(2)
		got = append(got, []int{first, c.pick(2 + first)})
	}
	require.Equal(t, [][]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}}, got)
}
