package redlock

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzKeys holds what a lock's keys become on the wire, of two sets at once: just the keys that were asked for, all of them
// under the prefix, apart from everything else that the library keeps there; and callers stand in one line where, and only
// where, they want the same set.
func FuzzKeys(f *testing.F) {
	f.Fuzz(func(t *testing.T, prefix, one, other string) {
		c := &core{prefix: prefix}
		sets := make(map[string][]string) // by line
		helpers := make(map[any]string)
		for _, text := range []string{one, other} {
			w := &wishes{prefix: prefix, given: givesKeys}
			w.key, w.more, _ = strings.Cut(text, ",")
			if !strings.Contains(text, ",") {
				w.given = 0
			}
			var more []string
			if w.gives(givesKeys) {
				more = strings.Split(w.more, ",")
			}
			want := w.wire()
			set, err := c.keySet(w.key, more)
			if want == nil {
				require.ErrorIs(t, err, ErrInvalid)
				continue
			}
			require.NoError(t, err)
			require.Len(t, set.wire, len(want))
			for i, key := range set.wire {
				require.Equal(t, want[i], key)
				for _, tag := range []string{counterTag, queueTag} {
					helper := c.helper(tag, key)
					require.True(t, strings.HasPrefix(helper.(string), prefix), "%q is outside of what the rights name", helper)
					require.False(t, slices.Contains(set.wire, helper), "%q is a lock's own key", helper)
					if of, known := helpers[helper]; known {
						require.Equal(t, key, of, "two keys have one helper %q", helper)
					}
					helpers[helper] = key.(string)
				}
			}
			require.Equal(t, set.line, lineOf(set.wire))
			if before, known := sets[set.line]; known {
				require.Equal(t, want, before, "two sets in one line")
			}
			for line, before := range sets {
				require.Equal(t, slices.Equal(before, want), line == set.line, "%q and %q", before, want)
			}
			sets[set.line] = want
		}
	})
}
