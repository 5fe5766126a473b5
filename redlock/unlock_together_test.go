package redlock

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOfConcurrentUnlocksExactlyOneSucceeds(t *testing.T) {
	t.Parallel()
	for range 20 {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			lock := c.mustTryLock(t, "k")
			c.staggered(time.Millisecond)
			const callers = 20
			errs := make(chan error, callers)
			for range callers {
				go func() { errs <- lock.Unlock(t.Context()) }()
			}
			succeeded := 0
			for range callers {
				if err := <-errs; err == nil {
					succeeded++
				} else {
					require.ErrorIs(t, err, ErrUnlocked)
				}
			}
			require.Equal(t, 1, succeeded)
		})
	}
}

func TestConcurrentUnlocksShareOneFailure(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3)
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		c.each(way{lose: true}, 0, 1)
		var wg sync.WaitGroup
		start := time.Now()
		for range 10 {
			wg.Go(func() { check(t, lock.Unlock(t.Context()), ErrNoQuorum) })
		}
		wg.Wait()
		require.LessOrEqual(t, time.Since(start), 2*nodeTimeout, "they wait for one another, not in turn")
	})
}

func TestARetryAsksTheNodesAgainWhileOthersStillLearnOfTheFailure(t *testing.T) {
	t.Parallel()
	for range 50 {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 3)
			lock := c.mustTryLock(t, "k")
			synctest.Wait()
			c.each(way{lose: true}, 0, 1)
			for range 50 {
				go func() { check(t, lock.Unlock(t.Context()), ErrNoQuorum) }()
			}
			synctest.Wait()
			c.each(way{}, 0, 1)
			require.ErrorIs(t, lock.Unlock(t.Context()), ErrNoQuorum)
			before := c.sent("")
			require.NoError(t, lock.Unlock(t.Context()))
			require.Greater(t, c.sent(""), before)
		})
	}
}
