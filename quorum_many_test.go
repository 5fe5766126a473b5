package quorum_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// Not parallel, since it needs the machine.
func TestAHundredThousandLocksAreHeldAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	tr := begin(t)
	l := tr.openAt(tr.urls(true), redlock.WithTTL(30*time.Minute))
	tr.warm(l)
	const callers = 100
	locks := 100_000
	if tr.Backend == testcluster.Embedded {
		locks /= 10 // these share our processors and interpret every script
	}
	held := make([]*redlock.Lock, locks)
	var g errgroup.Group
	for caller := range callers {
		g.Go(func() error {
			for i := caller; i < locks; i += callers {
				ctx, cancel := bounded()
				lock, err := l.Lock(ctx, fmt.Sprint("k", i))
				cancel()
				if err != nil {
					return err
				}
				held[i] = lock
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	for _, look := range tr.looks {
		require.True(t, until(10*time.Second, func() bool {
			n, err := look.DBSize(t.Context()).Result()
			require.NoError(t, err)
			return n >= int64(locks)
		}))
	}
	for caller := range callers {
		g.Go(func() error {
			for i := caller; i < locks; i += callers {
				if held[i].Remaining() == 0 {
					return fmt.Errorf("lock %d is lost", i)
				}
				if err := unlockAgain(t, held[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.True(t, until(10*time.Second, func() bool { return len(tr.keys()) == 0 }))
}
