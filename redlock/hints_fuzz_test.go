package redlock

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/node"
)

// elements are a list of up to six values: two bits of kinds say of each what it is.
func elements(count uint8, kinds uint16, numbers [6]int64, text string) []any {
	var all []any
	for i := range int(count) % (len(numbers) + 1) {
		all = append(all, []any{numbers[i], text, nil, []any{numbers[i]}}[kinds>>(2*i)&3])
	}
	return all
}

// numbered tells whether the values at these places are numbers.
func numbered(all []any, places ...int) bool {
	for _, i := range places {
		if _, ok := all[i].(int64); !ok {
			return false
		}
	}
	return true
}

// FuzzHints reads what a canary says of a queue, in any shape. What is of none that its script answers in is an error and no spot; a
// life that was told is never read as a shorter one, but for what no lock of ours outlives, and can be added to any time of a clock.
func FuzzHints(f *testing.F) {
	const longest, century = 10 * 365 * 24 * time.Hour, 100 * 365 * 24 * time.Hour // of any lock's life; and more than that
	f.Fuzz(func(t *testing.T, count uint8, kinds uint16, a, b, c, d, e int64, text string) {
		all := elements(count, kinds, [6]int64{a, b, c, d, e}, text)
		got, err := readSpot(&node.Reply{Queue: all})
		free := len(all) == 1 && all[0] == int64(0)
		// {1, place, how many wait, life, fresh}; nobody reads the place, and what is not 1 is not fresh.
		waits := len(all) == 5 && numbered(all, 0, 2, 3) && a == 1 && c >= 0
		require.Equal(t, !free && !waits, err != nil)
		require.Equal(t, waits, got != nil)
		if waits {
			require.GreaterOrEqual(t, got.count, 0)
			require.LessOrEqual(t, got.count, 1024, "beyond which no queue is kept")
			require.LessOrEqual(t, int64(got.count), c)
			require.Equal(t, all[4] == int64(1), got.fresh)
			require.Equal(t, d < 0, got.life < 0, "%d ms are not %v", d, got.life)
			if d >= 0 {
				told := time.Duration(min(d, int64(longest/time.Millisecond))) * time.Millisecond
				require.GreaterOrEqual(t, got.life, told, "%d ms are not %v", d, got.life)
				require.Less(t, got.life, math.MaxInt64-century, "%d ms", d)
			}
		}
		id, err := readHand(all)
		nobody := len(all) == 0 || len(all) == 1 && all[0] == int64(0)
		named := len(all) == 2 && all[0] == int64(1)
		require.Equal(t, !nobody && !named, err != nil)
		if named {
			require.Equal(t, all[1], id)
		} else {
			require.Nil(t, id)
		}
	})
}
