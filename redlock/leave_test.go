package redlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestALockThatIsLeftLivesForItsRestAndNoLonger(t *testing.T) {
	t.Parallel()
	for _, rest := range []time.Duration{time.Millisecond, time.Second, ttl, time.Hour} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			lock := c.mustHold(t, "k")
			time.Sleep(3 * time.Second)
			left := time.Now()
			require.NoError(t, lock.Leave(t.Context(), rest+999*time.Microsecond), "cut to whole milliseconds")
			synctest.Wait()
			for _, m := range c.masters {
				require.Equal(t, left.Add(rest), m.expiry("k"))
			}
			require.ErrorIs(t, lock.Err(), ErrUnlocked)
			require.Zero(t, lock.Remaining())
			before := c.sent("")
			require.ErrorIs(t, lock.Unlock(t.Context()), ErrUnlocked, "a deferred one does no harm")
			require.ErrorIs(t, lock.Leave(t.Context(), time.Minute), ErrUnlocked)
			require.Empty(t, lock.Detach())
			require.NoError(t, c.Close(t.Context()), "nor does Close")
			require.Equal(t, before, c.sent(""))
			require.Len(t, c.carriers(lock), 5)
			time.Sleep(rest)
			require.Empty(t, c.ours())
		})
	}
}

func TestLeaveNeverMakesADeletedKeyAndNeverTouchesAnothers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		c.masters[0].restartEmpty()
		c.masters[1].restartEmpty()
		c.masters[1].hold("k", time.Minute)
		ends := c.masters[1].expiry("k")
		require.NoError(t, lock.Leave(t.Context(), time.Hour))
		synctest.Wait()
		require.Empty(t, c.masters[0].values())
		require.Equal(t, foreign, c.masters[1].values()["k"])
		require.Equal(t, ends, c.masters[1].expiry("k"))
		require.Equal(t, []int{2, 3, 4}, c.carriers(lock))
	})
}

// Whether a lock was still ours to leave depends on what the nodes carry and not on who answers first.
func TestALockIsLeftWhenAQuorumStillHadIt(t *testing.T) {
	t.Parallel()
	for gone := range 6 {
		for silent := range 6 - gone {
			bubble(t, func(t *testing.T) {
				c := primed(t, 5)
				lock := c.mustHold(t, "k")
				for i, m := range c.masters {
					switch {
					case i < gone:
						m.restartEmpty()
					case i < gone+silent:
						m.set(way{lose: true})
					}
				}
				err := lock.Leave(t.Context(), time.Hour)
				switch {
				case gone > 2:
					require.ErrorIs(t, err, ErrLost)
					require.Equal(t, err, lock.Unlock(t.Context()), "and that is what is said from now on")
				case gone+silent > 2:
					require.ErrorIs(t, err, ErrNoQuorum)
					require.Equal(t, "leave", quorumError(t, err).Op)
					require.ErrorIs(t, lock.Unlock(t.Context()), ErrUnlocked, "it must not be deleted by a deferred Unlock")
					c.each(way{}, 0, 1, 2, 3, 4)
					time.Sleep(recovery)
					require.NoError(t, lock.Leave(t.Context(), time.Minute), "but it can be left again")
				default:
					require.NoError(t, err)
				}
				c.each(way{}, 0, 1, 2, 3, 4)
				time.Sleep(time.Minute)
			})
		}
	}
}

// A debt of a lock that was left sets what is left of the rest, and never deletes.
func TestADebtOfALeftLockSetsWhatIsLeftOfTheRest(t *testing.T) {
	t.Parallel()
	for _, rest := range []time.Duration{8 * time.Second, time.Minute} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5, WithTTL(30*time.Second))
			lock := c.mustHold(t, "k")
			c.masters[0].stop()
			c.masters[1].stop()
			left := time.Now()
			require.NoError(t, lock.Leave(t.Context(), rest))
			time.Sleep(5 * time.Second)
			c.masters[0].resume()
			c.masters[1].resume()
			time.Sleep(recovery)
			for i, m := range c.masters {
				require.WithinDuration(t, left.Add(rest), m.expiry("k"), 0, "node %d", i)
			}
			require.Zero(t, c.sent("release"))
			time.Sleep(time.Until(left.Add(rest)))
			require.Empty(t, c.ours())
		})
	}
}

func TestADebtOfALeftLockWhoseRestIsOverEndsItsKey(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithTTL(time.Hour))
		lock := c.mustHold(t, "k")
		c.masters[0].stop()
		require.NoError(t, lock.Leave(t.Context(), time.Second))
		time.Sleep(time.Minute)
		require.Equal(t, []int{0}, c.carriers(lock))
		c.masters[0].resume()
		time.Sleep(recovery)
		require.Empty(t, c.ours())
	})
}

func TestLeaveDoesNotHeedItsContextsEndAndIsBoundedByTwiceTheNodeTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		lock := c.mustHold(t, "k")
		require.NoError(t, lock.Leave(ended, time.Second))
		hung := c.mustHold(t, "hung")
		for _, m := range c.masters {
			m.timeout = time.Minute
			m.stop()
		}
		require.Equal(t, 2*nodeTimeout, took(func() { require.ErrorIs(t, hung.Leave(ended, time.Second), ErrNoQuorum) }))
		for _, m := range c.masters {
			m.resume()
		}
		time.Sleep(recovery)
	})
}

func TestALockThatRanOutCannotBeLeft(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		time.Sleep(validity)
		before := c.sent("")
		require.ErrorIs(t, lock.Leave(t.Context(), time.Hour), ErrLost)
		require.Empty(t, lock.Detach())
		require.Equal(t, before, c.sent(""))
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost)
		synctest.Wait()
		require.Empty(t, c.ours(), "but cleaned up")
	})
}

func TestARestThatIsNoneIsInvalidAndKeepsTheLock(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		before := c.sent("")
		for _, rest := range []time.Duration{0, -1, time.Millisecond - 1, -time.Hour, quorum.MaxTTL + time.Millisecond} {
			err := lock.Leave(t.Context(), rest)
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, "is not from 1ms to 87600h0m0s")
		}
		require.ErrorIs(t, lock.Leave(nil, time.Second), ErrInvalid) //nolint:staticcheck // a nil context is what is tested
		require.Equal(t, before, c.sent(""))
		require.NoError(t, lock.Err())
		require.NoError(t, lock.Leave(t.Context(), quorum.MaxTTL))
	})
}

func TestOfSeveralThatGiveALockUpInDifferentWaysTheFirstDecides(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		c.each(way{back: 50 * time.Millisecond}, 0, 1, 2, 3, 4)
		lock := c.mustTryLock(t, "k")
		ended := make(chan error, 2)
		for range cap(ended) {
			go func() { ended <- lock.Leave(t.Context(), time.Hour) }()
		}
		synctest.Wait()
		require.Zero(t, took(func() { require.ErrorIs(t, lock.Unlock(t.Context()), ErrUnlocked) }))
		failed := 0
		for range cap(ended) {
			if err := <-ended; err != nil {
				require.ErrorIs(t, err, ErrUnlocked)
				failed++
			}
		}
		require.Equal(t, 1, failed, "one succeeds")
		time.Sleep(time.Second)
		require.Len(t, c.carriers(lock), 5)
		require.Equal(t, 5, c.sent("leave"))
	})
}
