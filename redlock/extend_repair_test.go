package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// A repair that is acknowledged counts once an Extend was won that began after that, and not with one that began before.
func TestARepairThatIsAcknowledgedLateCountsLater(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pause   time.Duration // before each of the Extends after the first
		extends int
		want    error
	}{
		{time.Millisecond, 0, ErrLost},
		{time.Millisecond, 1, ErrLost}, // it began before the repair was acknowledged
		{time.Millisecond, 2, ErrLost},
		{200 * time.Millisecond, 1, nil},
		{200 * time.Millisecond, 2, nil},
	} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			c.each(way{back: 75 * time.Millisecond}, 4)
			lock := c.mustHold(t, "k")
			time.Sleep(time.Second)
			c.masters[4].restartEmpty()
			require.NoError(t, lock.Extend(t.Context())) // its answer in 75 ms, that of the repair in 150 ms
			for range tt.extends {
				time.Sleep(tt.pause)
				require.NoError(t, lock.Extend(t.Context()))
			}
			c.masters[0].restartEmpty()
			c.masters[1].restartEmpty()
			time.Sleep(time.Millisecond)
			require.ErrorIs(t, lock.Extend(t.Context()), tt.want, "%v", tt)
			time.Sleep(time.Second)
		})
	}
}

// A repair of unknown fate may yet make a key that the node had lost.
func TestARepairOfUnknownFateMakesNoVoter(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]way{"acknowledged": {}, "reply lost": {drop: true}, "late": {out: nodeTimeout + 1}} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			lock := c.mustHold(t, "k")
			time.Sleep(time.Second)
			c.masters[4].restartEmpty()
			c.masters[4].set(way{back: 50 * time.Millisecond})
			require.NoError(t, lock.Extend(t.Context()))
			synctest.Wait() // it is on its way back from there
			c.masters[4].set(w)
			time.Sleep(time.Second)
			require.Equal(t, 1, c.sent("repair"), name)
			c.masters[4].set(way{})
			for range 3 {
				require.NoError(t, lock.Extend(t.Context()), name)
				time.Sleep(time.Second)
			}
			require.Len(t, c.carriers(lock), 5, name)
			c.masters[0].restartEmpty()
			c.masters[1].restartEmpty()
			err := lock.Extend(t.Context())
			if name == "acknowledged" {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrLost, name)
			}
			require.NoError(t, c.Close(t.Context()))
		})
	}
}

// A repair that finds somebody else's key leaves it alone, and the node is no voter.
func TestARepairThatFindsAnothersKeyLeavesIt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		time.Sleep(time.Second)
		c.masters[4].restartEmpty()
		c.masters[4].set(way{back: 50 * time.Millisecond})
		require.NoError(t, lock.Extend(t.Context()))
		synctest.Wait()
		c.masters[4].hold("k", time.Minute) // between the Extend that found nothing and the repair
		ends := c.masters[4].expiry("k")
		time.Sleep(time.Second)
		require.Equal(t, 1, c.sent("repair"))
		require.Equal(t, foreign, c.masters[4].values()["k"])
		require.Equal(t, ends, c.masters[4].expiry("k"))
		require.NoError(t, lock.Extend(t.Context()))
		time.Sleep(time.Second)
		require.Equal(t, 1, c.sent("repair"), "what is another's is not asked for again")
	})
}

// On a clock that is moved by hand everything happens in the call that moves it.
func TestALockEndsOnAClockThatIsMovedByHand(t *testing.T) {
	t.Parallel()
	hands := clock.NewManual(time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC))
	c := newCluster(t, 1, WithClock(hands))
	lock := c.mustTryLock(t, "k")
	ctx, cancel := lock.Context(t.Context())
	defer cancel()
	hands.Advance(validity - 1)
	require.True(t, pending(lock.Done()))
	require.NoError(t, ctx.Err())
	hands.Advance(1)
	require.False(t, pending(lock.Done()))
	require.ErrorIs(t, lock.Err(), ErrLost)
	require.Error(t, ctx.Err())
}
