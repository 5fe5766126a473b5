package quorum_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/redlock"
)

// Where the clocks agree the nodes come to one number by themselves: no fence is written back, but for one in a hundred.
func TestAFenceTakesOneRoundTripWhereTheClocksAgree(t *testing.T) {
	t.Parallel()
	for _, clients := range []int{1, 4} {
		t.Run(fmt.Sprint(clients, " clients"), func(t *testing.T) {
			t.Parallel()
			tr := begin(t)
			const acquisitions = 1000
			var again int
			for range 5 { // a machine that has no time lets questions overtake each other between the nodes
				again = tr.writtenBack(clients, acquisitions, 0)
				t.Logf("%d of %d fences were written back", again, acquisitions)
				if again <= acquisitions/100 {
					break
				}
			}
			require.LessOrEqual(t, again, acquisitions/100)
		})
	}
	t.Run("a wall clock that is wrong", func(t *testing.T) {
		t.Parallel()
		require.LessOrEqual(t, begin(t).writtenBack(1, 100, 3*time.Second), 10, "it has no part in it")
	})
	t.Run("clients that know no node's clock yet", func(t *testing.T) {
		t.Parallel()
		require.Greater(t, begin(t).writtenBack(100, 100, 0), 50, "a write-back is seen where there is one")
	})
}

// writtenBack counts the fences that were written back among those of clients that contend for one key.
func (tr *trial) writtenBack(clients, acquisitions int, ahead time.Duration) int {
	tr.t.Helper()
	var again atomic.Int64
	urls := tr.urls(true)
	g, ctx := errgroup.WithContext(endsIn(tr.t, time.Minute))
	for range clients {
		l := tr.openAt(urls, redlock.WithFencing(), redlock.WithClock(apart{clock.System(), ahead}),
			watch{script: writeBack, url: urls[0], sent: &again}.option())
		g.Go(func() error {
			for range acquisitions / clients {
				lock, err := l.Lock(ctx, "k")
				if err != nil {
					return err
				}
				if err := lock.Unlock(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(tr.t, g.Wait())
	return int(again.Load())
}
