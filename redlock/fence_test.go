package redlock

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// wrongWall is a clock whose wall clock shows another time than it is.
type wrongWall struct {
	clock.Clock
	off time.Duration
}

func (w wrongWall) Wall() time.Time { return w.Clock.Wall().Add(w.off) }

// counters are what the masters keep beside the key, 0 where that is nothing.
func (c *cluster) counters(key string) (all []int64) {
	for _, m := range c.masters {
		n, _ := strconv.ParseInt(m.values()[c.core.prefix+counterTag+key], 10, 64)
		all = append(all, n)
	}
	return all
}

func TestAFenceTakesOneRoundTripWhereTheClocksAgree(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithFencing(), WithPrefix("app:"))
		c.staggered(10 * time.Millisecond)
		last := int64(0)
		for range 5 {
			called := time.Now()
			var lock *Lock
			require.Equal(t, 30*time.Millisecond, took(func() { lock = c.mustTryLock(t, "k") }))
			require.InDelta(t, called.UnixMicro(), lock.Fence(), 50_000, "the nodes' time, as well as it is known")
			require.Greater(t, lock.Fence(), last)
			last = lock.Fence()
			time.Sleep(nodeTimeout)
			require.Equal(t, slices.Repeat([]int64{last}, 5), c.counters("k"))
			require.NoError(t, lock.Extend(t.Context()))
			require.Equal(t, last, lock.Fence(), "it stays the same while the lock is held")
			require.NoError(t, lock.Unlock(t.Context()))
			require.Equal(t, last, lock.Fence())
			time.Sleep(nodeTimeout)
		}
		require.Zero(t, c.sent("raise"))
	})
}

func TestALockWithoutFencingHasNoFenceAndNoCounter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		require.Zero(t, lock.Fence())
		require.Equal(t, make([]int64, 5), c.counters("k"))
		require.Equal(t, 5, c.sent("set"), "and takes the plain command")
	})
}

// Two within the same microsecond, or a wall clock that was put back: the counters rise all the same.
func TestFencesRiseByTheCountersWhereTheClockDoesNot(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithFencing())
		late := c.another(t, WithFencing(), WithClock(wrongWall{clock.Monotonic(), -200 * time.Millisecond}))
		last := int64(0)
		for i := range 10 {
			l := []*Locker{c.Locker, late}[i%2]
			lock, err := l.TryLock(t.Context(), "k")
			require.NoError(t, err)
			require.Greater(t, lock.Fence(), last)
			last = lock.Fence()
			require.NoError(t, lock.Unlock(t.Context()))
			synctest.Wait()
		}
		require.Less(t, last, time.Now().UnixMicro()+20)
	})
}

// Where the nodes do not come to the same number it is written back, and a majority has it before the lock is had.
func TestAFenceIsStoredOnAMajorityBeforeTheLockIsHad(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithFencing())
		c.staggered(10 * time.Millisecond)
		far := time.Now().Add(time.Hour).UnixMicro()
		c.masters[1].put("set", counterTag+"k", far)
		var lock *Lock
		require.Equal(t, 60*time.Millisecond, took(func() { lock = c.mustTryLock(t, "k") }), "two round trips to three nodes")
		require.Equal(t, far+1, lock.Fence())
		require.Equal(t, 60*time.Millisecond, time.Until(lock.Until().Add(-validity)).Abs(), "both count")
		held := 0
		for _, n := range c.counters("k") {
			if n >= far+1 {
				held++
			}
		}
		require.GreaterOrEqual(t, held, 3)
		time.Sleep(nodeTimeout)
		require.Equal(t, slices.Repeat([]int64{far + 1}, 5), c.counters("k"))
	})
}

// A client with a mad clock must not poison a key for a year: without its seed the nodes' own time counts.
func TestASeedThatIsFarFromTheNodesTimeIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{251 * time.Millisecond, -251 * time.Millisecond, 365 * 24 * time.Hour} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			mad := c.another(t, WithFencing(), WithClock(wrongWall{clock.Monotonic(), off}))
			lock, err := mad.TryLock(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, time.Now().UnixMicro(), lock.Fence(), "the median of the nodes' clocks")
			synctest.Wait()
			require.Equal(t, slices.Repeat([]int64{lock.Fence()}, 5), c.counters("k"))
		})
	}
}

func TestAWriteBackThatFindsNoMajorityIsNoQuorumAndUndone(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]way{
		"hung":     {lose: true},
		"refused":  {down: errRefused},
		"no right": {answer: func(r request) (any, error, bool) { return nil, reply("NOPERM no"), r.script == "raise" }},
		"key gone": {answer: func(r request) (any, error, bool) { return int64(0), nil, r.script == "raise" }},
		"taken":    {answer: func(r request) (any, error, bool) { return int64(-1), nil, r.script == "raise" }},
		"no shape": {answer: func(r request) (any, error, bool) { return "OK", nil, r.script == "raise" }},
	} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5, WithFencing())
			c.masters[0].put("set", counterTag+"k", int64(5e15))
			c.staggered(time.Millisecond)
			time.AfterFunc(3*time.Millisecond-1, func() { c.each(w, 1, 2, 3) }) // the SETs have been answered, or will be
			require.LessOrEqual(t, took(func() {
				_, err := c.TryLock(t.Context(), "k")
				require.ErrorIs(t, err, ErrNoQuorum, name)
				require.ErrorIs(t, err, ErrNotAcquired, name)
				require.NotErrorIs(t, err, ErrTaken, name)
				require.NotEmpty(t, quorumError(t, err).Errs, name)
			}), 2*nodeTimeout, name)
			c.each(way{}, 0, 1, 2, 3, 4)
			time.Sleep(recovery)
			require.Empty(t, c.ours(), name)
			require.Positive(t, c.mustTryLock(t, "k").Fence(), name)
		})
	}
}

func TestAWriteBackThatTakesTooLongIsTooSlowAndUndone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithFencing(), WithTTL(300*time.Millisecond))
		c.masters[0].put("set", counterTag+"k", int64(5e15))
		c.each(way{back: 150 * time.Millisecond}, 1, 2, 3, 4)
		c.each(way{back: 149 * time.Millisecond}, 0) // so that it is one of the majority
		_, err := c.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, ErrTooSlow)
		require.ErrorIs(t, err, ErrNotAcquired)
		require.NotErrorIs(t, err, ErrNoQuorum)
		time.Sleep(nodeTimeout)
		require.Empty(t, c.ours())
	})
}

func TestACallThatEndsDuringTheWriteBackUndoesEverything(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithFencing())
		c.masters[0].put("set", counterTag+"k", int64(5e15))
		c.each(way{back: 100 * time.Millisecond}, 1, 2, 3, 4)
		c.each(way{back: 99 * time.Millisecond}, 0) // so that it is one of the majority
		require.Equal(t, 150*time.Millisecond, took(func() {
			_, err := c.TryLock(after(t, 150*time.Millisecond), "k")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, ErrNotAcquired)
			require.NotErrorIs(t, err, ErrNoQuorum)
		}))
		require.Equal(t, 5, c.sent("raise"))
		time.Sleep(time.Second)
		require.Empty(t, c.ours())

		ended := make(chan error, 1)
		go func() {
			_, err := c.Lock(t.Context(), "k")
			ended <- err
		}()
		c.masters[0].put("set", counterTag+"k", int64(6e15))
		time.Sleep(150 * time.Millisecond)
		require.NoError(t, c.Close(t.Context()))
		require.ErrorIs(t, <-ended, ErrClosed)
		require.Empty(t, c.ours())
	})
}

func TestACounterLivesForItsRetentionFromTheLastUse(t *testing.T) {
	t.Parallel()
	const retention = time.Minute
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithFencing(), WithFenceRetention(retention))
		lock := c.mustHold(t, "k")
		require.Equal(t, time.Now().Add(retention), c.masters[0].expiry(counterTag+"k"))
		time.Sleep(5 * time.Second)
		require.NoError(t, lock.Extend(t.Context()))
		synctest.Wait()
		require.Equal(t, time.Now().Add(retention), c.masters[0].expiry(counterTag+"k"))
		require.NoError(t, lock.Unlock(t.Context()))
		synctest.Wait()
		require.Equal(t, lock.Fence(), c.counters("k")[0], "it outlives the lock")
		time.Sleep(retention)
		require.Zero(t, c.counters("k")[0])
	})
}

func TestARepairBringsTheFenceBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithFencing())
		lock := c.mustHold(t, "k")
		c.masters[2].restartEmpty()
		require.NoError(t, lock.Extend(t.Context()))
		synctest.Wait()
		require.Equal(t, slices.Repeat([]int64{lock.Fence()}, 5), c.counters("k"))
	})
}

// A counter of a wrong type, or that is no number, costs that node's vote; its cause is told, and the data stays.
func TestACounterThatIsNoneCostsTheVoteAndNothingElse(t *testing.T) {
	t.Parallel()
	spoils := map[string]struct {
		spoil func(m *master)
		cause string
	}{
		"a list":        {func(m *master) { m.put("rpush", counterTag+"k", "v") }, "WRONGTYPE"},
		"no number":     {func(m *master) { m.put("set", counterTag+"k", "many") }, "not a number"},
		"out of bounds": {func(m *master) { m.put("set", counterTag+"k", int64(9007199254740993)) }, "not a number"},
	}
	for name, tt := range spoils {
		for n := 1; n <= 3; n++ {
			bubble(t, func(t *testing.T) {
				c := primed(t, 5, WithFencing())
				for _, m := range c.masters[:n] {
					tt.spoil(m)
				}
				before := c.masters[0].put("exists", counterTag+"k")
				lock, err := c.TryLock(t.Context(), "k")
				if n < 3 {
					require.NoError(t, err, name)
					require.NoError(t, lock.Unlock(t.Context()), name)
				} else {
					require.ErrorIs(t, err, ErrNoQuorum, name)
					require.ErrorContains(t, err, tt.cause, name)
					requireNodes(t, err, 0, 1, 2)
				}
				time.Sleep(recovery)
				require.Empty(t, c.ours(), name)
				require.Equal(t, before, c.masters[0].put("exists", counterTag+"k"), name)
			})
		}
	}
}

// I8, on a small scale: clocks of clients and masters apart, masters that forget, contenders, and slow links.
func TestFencesStrictlyRise(t *testing.T) {
	t.Parallel()
	for seed := range rounds(50) {
		bubble(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			c := primed(t, 5)
			for _, m := range c.masters {
				m.store.SetOffset(time.Duration(rnd.Int64N(int64(time.Second))))
			}
			var lockers []*Locker
			for range 4 {
				off := time.Duration(rnd.Int64N(int64(2*time.Second))) - time.Second
				lockers = append(lockers, c.another(t, WithFencing(), WithClock(wrongWall{clock.Monotonic(), off})))
			}
			last := int64(0)
			for i := range 20 {
				for _, m := range c.masters {
					m.set(way{out: time.Duration(rnd.Int64N(1e7)), back: time.Duration(rnd.Int64N(1e7)), drop: rnd.IntN(12) == 0})
				}
				lock, err := lockers[rnd.IntN(4)].TryLock(t.Context(), "k")
				if err == nil {
					require.Greater(t, lock.Fence(), last, "seed %d, acquisition %d", seed, i)
					last = lock.Fence()
					_ = lock.Unlock(t.Context())
				}
				time.Sleep(time.Duration(rnd.Int64N(int64(time.Second))))
				if i == 10 {
					time.Sleep(ttl)
					c.masters[rnd.IntN(5)].restartEmpty()
				}
			}
			require.Positive(t, last)
			c.each(way{}, 0, 1, 2, 3, 4)
			time.Sleep(time.Second) // what is under way ends
		})
	}
}

func TestAWallClockThatMakesNoFenceIsInvalid(t *testing.T) {
	t.Parallel()
	for _, year := range []int{1969, 1900, 2113, 9999} {
		bubble(t, func(t *testing.T) {
			off := time.Until(time.Date(year, time.June, 1, 0, 0, 0, 0, time.UTC))
			if year == 9999 {
				off = 1<<63 - 1
			}
			c := newCluster(t, 3, WithClock(wrongWall{clock.Monotonic(), off}))
			for _, try := range []func() error{
				func() error { _, err := c.TryLock(t.Context(), "k", WithFencing()); return err },
				func() error { _, err := c.Lock(t.Context(), "k", WithFencing()); return err },
				func() error { _, err := c.Resume(t.Context(), "k", "token", WithFencing()); return err },
			} {
				err := try()
				require.ErrorIs(t, err, ErrInvalid, "%d", year)
				require.ErrorContains(t, err, "is not between 1970 and 2112")
			}
			require.Zero(t, c.sent(""))
			require.NoError(t, c.mustTryLock(t, "k").Unlock(t.Context()), "a lock without a fence needs no wall clock")
		})
	}
}
