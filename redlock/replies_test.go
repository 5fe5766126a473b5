package redlock

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALockOverTheWire(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		l, wires := wired(t, 5)
		for range 3 {
			lock, err := l.Lock(t.Context(), "k")
			require.NoError(t, err)
			_, err = l.TryLock(t.Context(), "k")
			require.ErrorIs(t, err, ErrTaken)
			require.NoError(t, lock.Unlock(t.Context()))
			require.ErrorIs(t, lock.Unlock(t.Context()), ErrUnlocked)
		}
		time.Sleep(time.Second)
		for _, w := range wires {
			require.Empty(t, w.values())
		}
	})
}

// The SET was applied and its answer lost: the client must neither ask again, to be told that the key is there, nor take
// that for somebody else's.
func TestALostReplyOfASETIsNeverTaken(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 5} {
		bubble(t, func(t *testing.T) {
			l, wires := wired(t, 5)
			for _, w := range wires[:n] {
				w.setBend(hangUpOn("set"))
			}
			lock, err := l.TryLock(t.Context(), "k")
			if n <= 2 {
				require.NoError(t, err)
				require.NoError(t, lock.Unlock(t.Context()))
			} else {
				require.ErrorIs(t, err, ErrNoQuorum)
				require.NotErrorIs(t, err, ErrTaken)
				require.GreaterOrEqual(t, len(quorumError(t, err).Errs), 3)
				// And again, on top of what the first may have left.
				_, err = l.TryLock(t.Context(), "k")
				require.NotErrorIs(t, err, ErrTaken)
			}
			for _, w := range wires {
				w.setBend(nil)
				seen := make(map[string]bool)
				for _, r := range w.requests("set") {
					require.False(t, seen[r.token], "sent twice")
					seen[r.token] = true
				}
			}
			time.Sleep(recovery)
			for _, w := range wires {
				require.Empty(t, w.values())
			}
		})
	}
}

func TestALostReplyOfAReleaseOverTheWireIsNeverLost(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 5} {
		bubble(t, func(t *testing.T) {
			l, wires := wired(t, 5)
			lock, err := l.TryLock(t.Context(), "k")
			require.NoError(t, err)
			time.Sleep(time.Millisecond)
			for _, w := range wires[:n] {
				w.load()
				w.setBend(hangUpOn("evalsha"))
			}
			err = lock.Unlock(t.Context())
			require.NotErrorIs(t, err, ErrLost)
			if n >= 3 {
				require.ErrorIs(t, err, ErrNoQuorum)
			}
			for _, w := range wires {
				w.setBend(nil)
			}
			time.Sleep(recovery)
			if n >= 3 {
				require.NoError(t, lock.Unlock(t.Context()))
			}
			for _, w := range wires {
				require.Empty(t, w.values())
			}
		})
	}
}

var malformed = map[string]string{
	"a length beyond all bounds": "$9223372036854775800\r\n",
	"a negative length":          "$-7\r\n",
	"an array beyond all bounds": "*9223372036854775800\r\n",
	"a number":                   ":1\r\n",
	"an array":                   "*2\r\n+OK\r\n+OK\r\n",
	"a status of another name":   "+PONG\r\n",
	"two replies for one":        "+OK\r\n$-1\r\n",
	"an empty line":              "\r\n",
	"noise":                      strings.Repeat("\x00\xff noise ", 1<<17),
	"nothing":                    "",
	"half a reply":               "$2\r\nO",
	"an error of nothing":        "-\r\n",
	"another type":               "!3\r\nERR\r\n",
}

// A minority of nodes may say anything, a majority too: the votes are missing, and nothing breaks.
func TestNoReplyOfAnyShapeBreaksTheProcessOrIsTakenForAVote(t *testing.T) {
	t.Parallel()
	for name, raw := range malformed {
		for _, n := range []int{2, 3, 5} {
			bubble(t, func(t *testing.T) {
				l, wires := wired(t, 5)
				for _, w := range wires[:n] {
					w.setBend(bendTo("", raw))
				}
				lock, err := l.TryLock(t.Context(), "k")
				if n <= 2 {
					require.NoError(t, err, name)
					require.NoError(t, lock.Unlock(t.Context()), name)
				} else if name != "two replies for one" { // whose first is a grant, as far as anybody can tell
					require.ErrorIs(t, err, ErrNoQuorum, name)
					require.NotErrorIs(t, err, ErrTaken, name)
				}
				for _, w := range wires {
					w.setBend(nil)
				}
				time.Sleep(recovery)
				again, err := l.TryLock(t.Context(), "other")
				require.NoError(t, err, name)
				require.NoError(t, again.Unlock(t.Context()), name)
			})
		}
	}
}
