package redlock

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestADetachedLockStaysOnTheNodesAsItIs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		ends, before := c.masters[0].expiry("k"), c.sent("")
		token := lock.Detach()
		require.Equal(t, lock.round().secrets()[0], token)
		require.Empty(t, lock.Detach(), "once")
		require.ErrorIs(t, lock.Err(), ErrUnlocked)
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrUnlocked)
		require.ErrorIs(t, lock.Leave(t.Context(), time.Second), ErrUnlocked)
		require.ErrorIs(t, lock.Extend(t.Context()), ErrUnlocked)
		require.NoError(t, c.Close(t.Context()))
		require.Equal(t, before, c.sent(""))
		require.Len(t, c.carriers(lock), 5)
		require.Equal(t, ends, c.masters[0].expiry("k"))
	})
}

func TestResumeTakesTheLockOverForAFullTTL(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		giver := c.mustHold(t, "k", WithLabel("giver"))
		time.Sleep(4 * time.Second)
		token := giver.Detach()
		require.Equal(t, giver.round().secrets()[0]+" giver", token)
		c.staggered(10 * time.Millisecond)
		receiver := c.another(t)
		called := time.Now()
		lock, err := receiver.Resume(t.Context(), "k", token, WithLabel("receiver"))
		require.NoError(t, err)
		require.Equal(t, called.Add(validity), time.Now().Add(lock.Remaining()))
		time.Sleep(nodeTimeout)
		require.Len(t, c.carriers(lock), 5)
		require.Equal(t, called.Add(ttl), c.masters[0].expiry("k"))
		require.NotContains(t, lock.round().secrets()[0], giver.round().secrets()[0])
		require.NoError(t, c.Close(t.Context()), "the giver's Close does no harm")
		time.Sleep(5 * time.Second)
		require.NoError(t, lock.Extend(t.Context()))
		_, err = receiver.Resume(t.Context(), "k", token)
		require.ErrorIs(t, err, ErrLost, "the old token opens nothing any more")
		require.NoError(t, lock.Unlock(t.Context()))
		time.Sleep(nodeTimeout)
		require.Empty(t, c.ours())
	})
}

func TestOfSeveralThatResumeATokenOneHasTheLock(t *testing.T) {
	t.Parallel()
	for seed := range rounds(200) {
		bubble(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			c := newCluster(t, 5)
			token := c.mustHold(t, "k").Detach()
			for _, m := range c.masters {
				m.set(way{out: time.Duration(rnd.Int64N(int64(30 * time.Millisecond))), back: time.Duration(rnd.Int64N(int64(30 * time.Millisecond)))})
			}
			type result struct {
				lock *Lock
				err  error
			}
			ended := make(chan result, 3)
			for range cap(ended) {
				l := c.another(t)
				time.Sleep(time.Duration(rnd.Int64N(int64(20 * time.Millisecond))))
				go func() {
					lock, err := l.Resume(t.Context(), "k", token)
					ended <- result{lock, err}
				}()
			}
			held := 0
			var won *Lock
			for range cap(ended) {
				r := <-ended
				if r.err == nil {
					held++
					won = r.lock
				} else {
					require.ErrorIs(t, r.err, ErrLost, "seed %d", seed)
				}
			}
			require.Equal(t, 1, held, "seed %d", seed)
			time.Sleep(time.Second)
			require.GreaterOrEqual(t, len(c.carriers(won)), 3, "seed %d", seed)
			require.NoError(t, won.Extend(t.Context()), "seed %d: what the others put back harms nothing", seed)
		})
	}
}

func TestATokenThatNoMajorityKnowsIsLostAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		ends := c.masters[0].expiry("k")
		for _, key := range []string{"k", "free"} {
			_, err := c.another(t).Resume(t.Context(), key, "a-token-of-nobody")
			require.ErrorIs(t, err, ErrLost)
			require.NotErrorIs(t, err, ErrTaken)
			require.NotErrorIs(t, err, ErrNotAcquired)
			e := quorumError(t, err)
			require.Equal(t, "resume", e.Op)
			require.GreaterOrEqual(t, e.Refused, 3)
		}
		time.Sleep(nodeTimeout)
		require.Len(t, c.carriers(lock), 5)
		require.Equal(t, ends, c.masters[0].expiry("k"))

		token := lock.Detach()
		time.Sleep(ttl)
		_, err := c.Resume(t.Context(), "k", token)
		require.ErrorIs(t, err, ErrLost, "it ran out")
		time.Sleep(nodeTimeout)
		require.Empty(t, c.ours())
	})
}

// A Resume that fails puts back what it found, and can be tried again.
func TestAResumeThatFailsSwapsBack(t *testing.T) {
	t.Parallel()
	ways := map[string]struct {
		way  way
		want error
		ctx  time.Duration
	}{
		"three hung":                {way{lose: true}, ErrNoQuorum, time.Hour},
		"three replies lost":        {way{drop: true}, ErrNoQuorum, time.Hour},
		"three refused":             {way{down: errRefused}, ErrNoQuorum, time.Hour},
		"cancelled while it waited": {way{back: 150 * time.Millisecond}, context.DeadlineExceeded, 100 * time.Millisecond},
	}
	for name, tt := range ways {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5, WithTTL(time.Minute))
			giver := c.mustHold(t, "k")
			token, ends := giver.Detach(), c.masters[0].expiry("k")
			c.each(tt.way, 0, 2, 4)
			_, err := c.Resume(after(t, tt.ctx), "k", token)
			require.ErrorIs(t, err, tt.want, name)
			require.NotErrorIs(t, err, ErrLost, name)
			require.NotErrorIs(t, err, ErrNotAcquired, name)
			c.each(way{}, 0, 2, 4)
			time.Sleep(2 * time.Second)
			require.Len(t, c.carriers(giver), 5, name)
			require.False(t, c.masters[1].expiry("k").Before(ends), "%s: with no less life", name)
			lock, err := c.Resume(t.Context(), "k", token)
			require.NoError(t, err, name)
			require.NoError(t, lock.Unlock(t.Context()), name)
			time.Sleep(time.Minute)
			require.Empty(t, c.ours(), name)
		})
	}
}

func TestABadResumeIsInvalidBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3)
		for _, tt := range []struct{ key, token, relation string }{
			{"k", "", "token of 0 bytes is not from 1 to 4096"},
			{"k", strings.Repeat("t", 4097), "token of 4097 bytes is not from 1 to 4096"},
			{"", "token", "key is empty"},
			{"~f:k", "token", "reserved"},
		} {
			_, err := c.Resume(t.Context(), tt.key, tt.token)
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, tt.relation)
		}
		_, err := c.Resume(nil, "k", "token") //nolint:staticcheck // a nil context is what is tested
		require.ErrorIs(t, err, ErrInvalid)
		_, err = (&Locker{}).Resume(t.Context(), "k", "token")
		require.ErrorIs(t, err, ErrInvalid)
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errWork)
		_, err = c.Resume(ended, "k", "token")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errWork)
		require.NotErrorIs(t, err, ErrNotAcquired, "that is of Lock and TryLock")
		require.NotErrorIs(t, err, ErrLost)
		require.Zero(t, c.sent(""))
		require.NoError(t, c.Close(t.Context()))
		_, err = c.Resume(t.Context(), "k", "token")
		require.ErrorIs(t, err, ErrClosed)
	})
}

func TestAFencedLockOnSeveralKeysIsResumedAsAWhole(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithFencing(), WithKeys("b", "a"))
		giver := c.mustHold(t, "c")
		fence := giver.Fence()
		time.Sleep(time.Second)
		lock, err := c.Resume(t.Context(), "c", giver.Detach())
		require.NoError(t, err)
		synctest.Wait()
		require.Greater(t, lock.Fence(), fence, "the giver's late writes are stale")
		for _, m := range c.masters {
			values := m.values()
			for _, key := range []string{"a", "b", "c"} {
				require.Equal(t, lock.round().bid.Token, values[key])
			}
		}
		token := lock.Detach()
		for _, m := range c.masters {
			m.put("del", "b")
		}
		_, err = c.Resume(t.Context(), "c", token)
		require.ErrorIs(t, err, ErrLost, "a part of it is none")
	})
}
