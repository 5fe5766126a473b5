package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A node that lost the key may have had somebody else's before it got ours back: it counts again only once an Extend was won without
// it, and until then what it confirms makes up for nobody.
func TestANodeThatLostTheKeyMakesUpForNobodyAtOnce(t *testing.T) {
	t.Parallel()
	for between, want := range []error{ErrLost, nil} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			lock := c.mustHold(t, "k")
			c.masters[4].restartEmpty()
			require.NoError(t, lock.Extend(t.Context()))
			synctest.Wait()
			require.Len(t, c.carriers(lock), 5, "it is repaired")
			for range between {
				time.Sleep(time.Second)
				require.NoError(t, lock.Extend(t.Context()))
			}
			c.masters[0].restartEmpty()
			c.masters[1].restartEmpty()
			time.Sleep(time.Second)
			require.ErrorIs(t, lock.Extend(t.Context()), want, "with %d Extends in between", between)
			require.ErrorIs(t, lock.Err(), want)
		})
	}
}
