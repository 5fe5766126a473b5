package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// recovery is the time after which a node that answers again carries no key of ours: a suspect is probed once a second at
// least, and a second after its answer all is done.
const recovery = 2*time.Second + nodeTimeout

// chaos gives every node, at random, delays, lost replies, refusals and stops.
func (c *cluster) chaos(rnd *rand.Rand) {
	for _, m := range c.masters {
		w := way{
			out:  time.Duration(rnd.Int64N(int64(30 * time.Millisecond))),
			back: time.Duration(rnd.Int64N(int64(30 * time.Millisecond))),
		}
		switch rnd.IntN(8) {
		case 0:
			w.drop = true
		case 1:
			w.lose = true
		case 2:
			w.down = errRefused
		case 3:
			m.hold("k", time.Duration(rnd.Int64N(int64(100*time.Millisecond)))+1)
		case 4:
			w.out *= 10
		case 5:
			w.back *= 10
		}
		m.set(w)
	}
}

func TestACallThatIsCancelledAtAnyMomentHoldsTheLockOrLeavesNothing(t *testing.T) {
	t.Parallel()
	calls := map[string]func(context.Context, *cluster) (*Lock, error){
		"TryLock": func(ctx context.Context, c *cluster) (*Lock, error) { return c.TryLock(ctx, "k") },
		"Lock":    func(ctx context.Context, c *cluster) (*Lock, error) { return c.Lock(ctx, "k") },
	}
	errLeft := errors.New("the client hung up")
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held, cancelled := 0, 0
			for seed := range rounds(500) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				bubble(t, func(t *testing.T) {
					c := newCluster(t, 5, WithTTL(time.Minute))
					c.chaos(rnd)
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					time.AfterFunc(time.Duration(rnd.Int64N(int64(150*time.Millisecond))), func() { cancel(errLeft) })
					lock, err := call(ctx, c)
					switch {
					case err == nil:
						held++
						require.Positive(t, lock.Remaining(), "seed %d", seed)
						unlock(ctx, t, lock)
					case errors.Is(err, context.Canceled):
						cancelled++
						require.ErrorIs(t, err, errLeft, "seed %d", seed)
						require.ErrorIs(t, err, ErrNotAcquired, "seed %d", seed)
					}
					require.Equal(t, err == nil, lock != nil, "seed %d: a handle or an error", seed)
					c.each(way{}, 0, 1, 2, 3, 4)
					time.Sleep(recovery)
					require.Empty(t, c.ours(), "seed %d", seed)
				})
			}
			require.Positive(t, held)
			require.Positive(t, cancelled)
		})
	}
}

// unlock gives a lock back over nodes that may be in any state.
func unlock(ctx context.Context, t *testing.T, lock *Lock) {
	t.Helper()
	if err := lock.Unlock(ctx); err != nil {
		require.ErrorIs(t, err, ErrNoQuorum)
		require.NotErrorIs(t, err, ErrLost)
	}
}

// At the instant of the verdict, either is right; a lock without a handle is not, nor a handle without its lock.
func TestACallThatIsCancelledInTheInstantOfSuccessHoldsTheLockOrLeavesNothing(t *testing.T) {
	t.Parallel()
	outcomes := make(map[bool]int)
	for range rounds(500) {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			// What is due at one instant happens in a random order.
			c.each(way{back: 10 * time.Millisecond}, 0, 1, 2, 3, 4)
			time.AfterFunc(10*time.Millisecond, cancel)
			lock, err := c.TryLock(ctx, "k")
			outcomes[err == nil]++
			if err == nil {
				require.GreaterOrEqual(t, len(c.ours()), 3)
				require.NoError(t, lock.Unlock(ctx))
			} else {
				require.ErrorIs(t, err, context.Canceled)
				require.Nil(t, lock)
			}
			c.settle(t)
			require.Empty(t, c.ours())
		})
	}
	require.Len(t, outcomes, 2, "both happen: %v", outcomes)
}

func TestALockThatWasWonWhenTheContextEndedIsReturned(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1)
		ctx, cancel := context.WithCancel(t.Context())
		call, err := c.call(ctx, "trylock", "k", nil)
		require.NoError(t, err)
		r := c.core.begin(&call, noFirst, false)
		synctest.Wait() // it has its majority
		cancel()
		verdict, err := r.await(ctx, false)
		require.NoError(t, err)
		require.Equal(t, quorum.Won, verdict)
	})
}
