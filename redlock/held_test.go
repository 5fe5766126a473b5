package redlock

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// F85: a service that is told to stop frees its locks at once on the nodes that answer, however many hang.
func TestCloseGivesBackEveryLockThatIsHeldWithTwoNodesHung(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		c.each(way{back: time.Millisecond}, 0, 1, 2, 3, 4)
		var locks []*Lock
		for i := range 100 {
			locks = append(locks, c.mustHold(t, fmt.Sprint("k", i)))
		}
		time.Sleep(nodeTimeout)
		for _, m := range c.masters[3:] {
			m.stop()
		}
		closed := make(chan error, 1)
		go func() { closed <- c.Close(after(t, time.Second)) }()
		time.Sleep(3 * time.Millisecond)
		for _, m := range c.masters[:3] {
			require.Empty(t, m.values())
		}
		other := c.another(t)
		lock, err := other.TryLock(t.Context(), "k7")
		require.NoError(t, err, "others have them at once")
		for _, k := range locks {
			require.ErrorIs(t, k.Err(), ErrUnlocked)
			require.Zero(t, k.Remaining())
		}
		require.Error(t, <-closed, "two nodes still carry the keys")
		require.NoError(t, locks[0].Unlock(t.Context()), "but it was given back")
		require.ErrorIs(t, locks[0].Unlock(t.Context()), ErrUnlocked)
		require.NoError(t, lock.Unlock(t.Context()))
		for _, m := range c.masters[3:] {
			m.resume()
		}
		time.Sleep(ttl)
	})
}

func TestUnlockAfterCloseSaysHowThatWent(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		gone, kept, lost := c.mustHold(t, "gone"), c.mustHold(t, "kept"), c.mustHold(t, "lost")
		for _, m := range c.masters[:3] {
			m.put("del", "gone")
		}
		time.Sleep(validity)
		require.ErrorIs(t, lost.Err(), ErrLost)
		late := c.mustHold(t, "late")
		require.NoError(t, c.Close(t.Context()))
		require.NoError(t, late.Unlock(t.Context()))
		for _, k := range []*Lock{gone, kept, lost} {
			require.ErrorIs(t, k.Unlock(t.Context()), ErrLost)
		}
		synctest.Wait()
		require.Empty(t, c.ours())
	})
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		c.masters[0].put("del", "k")
		c.masters[1].put("del", "k")
		c.masters[2].put("del", "k")
		require.NoError(t, c.Close(t.Context()))
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost, "it was not ours any more when Close gave it back")
	})
}

func TestCloseLeavesAloneWhatWasLeftDetachedUnlockedOrToBeKept(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		left, detached, unlocked := c.mustHold(t, "left"), c.mustHold(t, "detached"), c.mustHold(t, "unlocked")
		require.NoError(t, left.Leave(t.Context(), time.Hour))
		require.NotEmpty(t, detached.Detach())
		require.NoError(t, unlocked.Unlock(t.Context()))
		synctest.Wait()
		before := c.sent("")
		require.NoError(t, c.Close(t.Context()))
		require.Equal(t, before, c.sent(""))

		keeper := c.another(t, WithoutReleaseOnClose())
		kept, err := keeper.TryLock(t.Context(), "kept")
		require.NoError(t, err)
		synctest.Wait()
		before = c.sent("")
		require.NoError(t, keeper.Close(t.Context()))
		require.Equal(t, before, c.sent(""))
		require.NoError(t, kept.Err())
		require.Len(t, c.ours(), 3*5)
	})
}

// A lock may be won in the very moment in which its Locker is closed: it is held by nobody then.
func TestALockThatIsWonWhileItsLockerIsClosedIsGivenBack(t *testing.T) {
	t.Parallel()
	won := 0
	for seed := range rounds(100) {
		bubble(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			c := primed(t, 5)
			for _, m := range c.masters {
				m.set(way{back: time.Duration(rnd.Int64N(1e6))})
			}
			tried := make(chan error, 4)
			for i := range cap(tried) {
				go func() {
					_, err := c.TryLock(t.Context(), fmt.Sprint("k", i))
					tried <- err
				}()
			}
			time.Sleep(time.Duration(rnd.Int64N(2e6)))
			require.NoError(t, c.Close(t.Context()))
			for range cap(tried) {
				if err := <-tried; err == nil {
					won++
				} else {
					require.ErrorIs(t, err, ErrClosed, "seed %d", seed)
				}
			}
			time.Sleep(time.Millisecond)
			require.Empty(t, c.ours(), "seed %d", seed)
		})
	}
	require.Positive(t, won)
}

func (h *heldLocks) len() int { return len(h.all()) }

// Nobody has to give a lock back, or to ask how it is: what ran out is forgotten all the same.
func TestLocksThatAreForgottenDoNotPileUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 1, WithTTL(time.Second))
		kept := c.mustHold(t, "kept", WithTTL(time.Hour))
		const alive = 100 // at a time
		most := 0
		for i := range 20 * alive {
			c.mustTryLock(t, fmt.Sprint("k", i))
			time.Sleep(time.Second / alive)
			most = max(most, c.core.held.len())
		}
		require.LessOrEqual(t, most, 2*alive+2)
		require.Contains(t, c.core.held.all(), kept)
		require.NoError(t, kept.Unlock(t.Context()))
		require.NotContains(t, c.core.held.all(), kept)
		time.Sleep(time.Second)
		for range most {
			lock := c.mustTryLock(t, "k")
			require.NoError(t, lock.Unlock(t.Context()))
			synctest.Wait()
		}
		require.Zero(t, c.core.held.len())
	})
}
