package redlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExtendGivesAFullTTLFromItsCallOnEveryNode(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		time.Sleep(4 * time.Second)
		c.staggered(10 * time.Millisecond)
		called := time.Now()
		require.Equal(t, 30*time.Millisecond, took(func() { require.NoError(t, lock.Extend(t.Context())) }), "it waits for three")
		require.Equal(t, called.Add(validity), time.Now().Add(lock.Remaining()), "but counts from the call")
		require.Equal(t, time.Now().Add(lock.Remaining()).Round(0), lock.Until())
		time.Sleep(nodeTimeout)
		for _, m := range c.masters {
			require.Equal(t, called.Add(ttl), m.expiry("k"))
			require.Len(t, m.requests("extend"), 1)
		}
		require.Zero(t, c.sent("repair"))
	})
}

// A shorter life than a node gives would shorten trust there in silence.
func TestExtendNeverShortensALife(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		for _, m := range c.masters {
			m.store.SetOffset(-time.Hour) // its clock was put back: the key lives on for an hour more
		}
		time.Sleep(time.Second)
		require.NoError(t, lock.Extend(t.Context()))
		synctest.Wait()
		for _, m := range c.masters {
			require.Greater(t, m.put("pttl", "k"), int64(3_600_000))
		}
	})
}

func TestAnExtendWithoutAQuorumOfAnswersLeavesTheLockAsItWas(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]way{
		"refused": {down: errRefused}, "hung": {lose: true}, "reply lost": {drop: true}, "error": bars("BUSY Redis is busy.", 0),
		"another shape": {answer: func(r request) (any, error, bool) { return int64(1), nil, r.script == "extend" }},
	} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			lock := c.mustHold(t, "k")
			until := lock.Until()
			time.Sleep(time.Second)
			c.each(w, 0, 2, 4)
			err := lock.Extend(t.Context())
			require.ErrorIs(t, err, ErrNoQuorum, name)
			require.NotErrorIs(t, err, ErrLost, name)
			require.NotErrorIs(t, err, ErrTaken, name)
			requireNodes(t, err, 0, 2, 4)
			e := quorumError(t, err)
			require.Equal(t, "extend", e.Op)
			require.LessOrEqual(t, e.Granted, 2, name)
			require.Zero(t, e.Refused, name)
			require.LessOrEqual(t, time.Since(until.Add(-validity)), time.Second+nodeTimeout, name)
			require.Equal(t, until, lock.Until(), name)
			require.NoError(t, lock.Err(), name)
			synctest.Wait()
			require.Zero(t, c.sent("repair")+c.sent("release"), "and cleans nothing up")
			c.each(way{}, 0, 2, 4)
			time.Sleep(time.Second + nodeTimeout) // a node that failed is not asked for a moment
			require.NoError(t, lock.Extend(t.Context()), name)
			require.Equal(t, validity, lock.Remaining(), name)
		})
	}
}

// F14: a majority that is counted after the end of validity comes too late, whatever it says.
func TestALateExtendIsAFailureAndMovesNoEnd(t *testing.T) {
	t.Parallel()
	const life = 500 * time.Millisecond
	for _, watched := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5, WithTTL(life))
			lock := c.mustHold(t, "k")
			if watched {
				lock.Done()
			}
			until := lock.Until()
			time.Sleep(life - 120*time.Millisecond)
			require.Equal(t, until, lock.Until())
			c.each(way{back: 150 * time.Millisecond}, 0, 1, 2, 3, 4)
			err := lock.Extend(t.Context())
			require.ErrorIs(t, err, ErrLost)
			require.Zero(t, lock.Until())
			require.Zero(t, lock.Remaining())
			if watched {
				require.Equal(t, until, time.Now().Round(0), "and is told at the end of validity")
			}
			time.Sleep(nodeTimeout)
			require.ErrorIs(t, lock.Err(), ErrLost, "nothing that comes later revives it")
			require.Zero(t, c.sent("repair"))
		})
	}
}

// F14, the other half: the answers come after the node timeout, with much validity left.
func TestAnExtendThatTakesLongerThanTheNodeTimeoutMovesNoEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		until := lock.Until()
		for _, m := range c.masters {
			m.timeout = time.Second
			m.set(way{back: nodeTimeout + 1})
		}
		require.Equal(t, nodeTimeout, took(func() { require.ErrorIs(t, lock.Extend(t.Context()), ErrNoQuorum) }))
		time.Sleep(time.Second)
		require.Equal(t, until, lock.Until())
	})
}

// What waits in a lane until the lock has run out would only keep others from the key.
func TestNothingOfAnExtendLeavesOnceTheLockHasRunOut(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		time.Sleep(validity - 100*time.Millisecond)
		c.each(way{back: 150 * time.Millisecond}, 0, 1, 2, 3, 4)
		busy := make(chan error, 1)
		go func() {
			_, err := c.TryLock(t.Context(), "other")
			busy <- err
		}()
		synctest.Wait() // every lane is busy
		require.ErrorIs(t, lock.Extend(t.Context()), ErrLost)
		require.NoError(t, <-busy)
		time.Sleep(time.Second)
		require.Zero(t, c.sent("extend"))
		require.Empty(t, c.carriers(lock))
	})
}

// F20: a lock that has run out is somebody else's by now.
func TestExtendOfALockThatRanOutSendsNothingAndTouchesNobody(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		time.Sleep(ttl)
		other := c.another(t)
		theirs, err := other.TryLock(t.Context(), "k")
		require.NoError(t, err)
		synctest.Wait()
		before, ends := c.sent(""), c.masters[0].expiry("k")
		require.ErrorIs(t, lock.Extend(t.Context()), ErrLost)
		require.ErrorIs(t, lock.KeepAlive(t.Context()), ErrLost)
		synctest.Wait()
		require.Equal(t, before, c.sent(""))
		require.Len(t, c.carriers(theirs), 5)
		require.Equal(t, ends, c.masters[0].expiry("k"))
	})
}

// F20, where our own clock does not know it yet: the nodes' clocks were put forward, and somebody else has the key.
func TestExtendNeitherExtendsNorOverwritesWhatIsAnothers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		for _, m := range c.masters {
			m.store.SetOffset(time.Minute)
		}
		theirs, err := c.another(t).TryLock(t.Context(), "k")
		require.NoError(t, err)
		synctest.Wait()
		time.Sleep(time.Second)
		ends := c.masters[0].expiry("k")
		err = lock.Extend(t.Context())
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, err, ErrTaken)
		require.Equal(t, 3, quorumError(t, err).Refused)
		require.ErrorIs(t, lock.Err(), ErrLost)
		synctest.Wait()
		require.Len(t, c.carriers(theirs), 5)
		require.Equal(t, ends, c.masters[0].expiry("k"))
	})
}

func TestAnEndedContextBeforeExtendSendsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		until, before := lock.Until(), c.sent("")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errRefused)
		err := lock.Extend(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errRefused)
		require.NotErrorIs(t, err, ErrLost)
		require.NotErrorIs(t, err, ErrNotAcquired)
		require.ErrorContains(t, err, "no node was asked")
		require.ErrorIs(t, lock.Extend(nil), ErrInvalid)    //nolint:staticcheck // a nil context is what is tested
		require.ErrorIs(t, lock.KeepAlive(nil), ErrInvalid) //nolint:staticcheck // likewise
		synctest.Wait()
		require.Equal(t, before, c.sent(""))
		require.Equal(t, until, lock.Until())
	})
}

// What was told to have failed must not have succeeded.
func TestAContextThatEndsDuringExtendReturnsAtOnceAndMovesNoEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		until := lock.Until()
		time.Sleep(time.Second)
		c.each(way{back: 100 * time.Millisecond}, 0, 1, 2, 3, 4)
		require.Equal(t, 50*time.Millisecond, took(func() {
			err := lock.Extend(after(t, 50*time.Millisecond))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, ErrLost)
			require.NotErrorIs(t, err, ErrNoQuorum)
		}))
		time.Sleep(nodeTimeout) // by now a majority has confirmed
		require.Equal(t, until, lock.Until())
		require.NoError(t, lock.Extend(t.Context()))
		require.Equal(t, validity-100*time.Millisecond, lock.Remaining())
	})
}

// The majority and the end of the context may come in the same moment: what is said is what holds.
func TestAContextThatEndsWithTheMajorityIsEitherAndNeverBoth(t *testing.T) {
	t.Parallel()
	said := make(map[bool]int)
	for range 200 {
		bubble(t, func(t *testing.T) {
			c := primed(t, 3)
			lock := c.mustHold(t, "k")
			time.Sleep(time.Second)
			c.each(way{back: 50 * time.Millisecond}, 0, 1, 2)
			err := lock.Extend(after(t, 50*time.Millisecond))
			time.Sleep(time.Second)
			want := validity - 1050*time.Millisecond
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				want -= time.Second
			}
			require.Equal(t, want, lock.Remaining())
			said[err == nil]++
		})
	}
	t.Logf("won %d times, interrupted %d times", said[true], said[false])
}

// Grants that are still under way when Extend is called are those of voters if they come in time.
func TestExtendReckonsWithGrantsThatAreUnderWay(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		c.each(way{out: 100 * time.Millisecond}, 3, 4)
		lock := c.mustHold(t, "k")
		c.each(way{}, 3, 4)
		c.masters[0].restartEmpty()
		c.masters[1].restartEmpty()
		require.Equal(t, 100*time.Millisecond, took(func() { require.NoError(t, lock.Extend(t.Context())) }))
		synctest.Wait()
		require.Len(t, c.carriers(lock), 5)
	})
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		c.each(way{out: 100 * time.Millisecond}, 3, 4)
		lock := c.mustHold(t, "k")
		require.Zero(t, took(func() { require.NoError(t, lock.Extend(t.Context())) }), "three are enough")
		time.Sleep(time.Second)
		c.masters[0].restartEmpty()
		c.masters[1].restartEmpty()
		require.NoError(t, lock.Extend(t.Context()))
		time.Sleep(nodeTimeout)
	})
}

func TestSeveralExtendsAtOnceAllSucceedAndTheLatestCounts(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		c.staggered(7 * time.Millisecond)
		var last time.Time
		ended := make(chan error, 20)
		for range cap(ended) {
			time.Sleep(3 * time.Millisecond)
			last = time.Now()
			go func() { ended <- lock.Extend(t.Context()) }()
		}
		for range cap(ended) {
			require.NoError(t, <-ended)
		}
		require.Equal(t, last.Add(validity), time.Now().Add(lock.Remaining()))
		time.Sleep(nodeTimeout)
	})
}

func TestExtendAfterCloseIsClosedAndSendsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithoutReleaseOnClose())
		lock := c.mustHold(t, "k")
		slow := c.mustHold(t, "slow")
		c.each(way{back: 100 * time.Millisecond}, 0, 1, 2, 3, 4)
		ended := make(chan error, 1)
		go func() { ended <- slow.Extend(t.Context()) }()
		synctest.Wait()
		require.NoError(t, c.Close(t.Context()))
		require.ErrorIs(t, <-ended, ErrClosed)
		before := c.sent("")
		require.ErrorIs(t, lock.Extend(t.Context()), ErrClosed)
		require.ErrorIs(t, lock.KeepAlive(t.Context()), ErrClosed)
		require.Equal(t, before, c.sent(""))
		require.NoError(t, lock.Err(), "it lives until its end")
	})
}
