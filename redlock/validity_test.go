package redlock

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

func TestValidityCountsFromBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		for i, m := range c.masters {
			m.set(way{out: time.Duration(i) * time.Millisecond, back: 10 * time.Millisecond})
		}
		lock := c.mustTryLock(t, "k")
		// The third reply came after 12 ms, and all of them count.
		require.Equal(t, ttl-drift-12*time.Millisecond, lock.Remaining())
		require.Equal(t, time.Now().Add(lock.Remaining()).Round(0), lock.Until())

		time.Sleep(time.Second)
		require.Equal(t, ttl-drift-1012*time.Millisecond, lock.Remaining())
		time.Sleep(lock.Remaining() - 1)
		require.Equal(t, time.Duration(1), lock.Remaining())
		time.Sleep(time.Nanosecond)
		require.Zero(t, lock.Remaining())
		require.Zero(t, lock.Until())
	})
}

// ticking is a clock on which every reading takes time.
type ticking struct {
	clock.Clock
	reads *atomic.Int64
}

func (c ticking) Now() time.Duration { return time.Duration(c.reads.Add(1)) * time.Millisecond }

// Time passes while the nodes are being asked, too. What counts is the reading before all that.
func TestValidityCountsFromBeforeTheNodesWereAsked(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		reads := new(atomic.Int64)
		c := newCluster(t, 5, WithClock(ticking{clock.Monotonic(), reads}))
		before := reads.Load()
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		after := reads.Load() + 1 // the one that comes now
		require.Equal(t, ttl-drift-time.Duration(after-before-1)*time.Millisecond, lock.Remaining())
	})
}

// A SET may wait in its lane for the reply to what was sent before: the time counts although no byte has left.
func TestValidityCountsTheTimeInTheQueue(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1)
		c.masters[0].set(way{back: 100 * time.Millisecond})
		first := make(chan error)
		go func() {
			_, err := c.TryLock(t.Context(), "first")
			first <- err
		}()
		time.Sleep(30 * time.Millisecond)
		called := time.Now()
		lock := c.mustTryLock(t, "second")
		require.Equal(t, 170*time.Millisecond, time.Since(called))
		require.Equal(t, 70*time.Millisecond, c.masters[0].requests("set")[1].at.Sub(called))
		require.Equal(t, called.Add(ttl-drift), time.Now().Add(lock.Remaining()))
		require.NoError(t, <-first)
	})
}

// A Lock that waited is as good as new: its validity counts from the attempt that won, not from the call.
func TestValidityCountsFromTheAttemptThatWon(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithTTL(time.Second))
		for _, m := range c.masters {
			m.hold("k", 3*time.Second)
		}
		lock, err := c.Lock(t.Context(), "k", WithMaxAttempts(1000)) // no poll only looks
		require.NoError(t, err)
		require.Equal(t, time.Second-12*time.Millisecond, lock.Remaining())
		synctest.Wait() // for this node too: it may be the last of the five to be asked
		sets := c.masters[0].requests("set")
		require.Greater(t, len(sets), 10)
		require.Equal(t, time.Now(), sets[len(sets)-1].at)
	})
}

// Whatever the numbers: the holder stops trusting before the key ends on so many nodes that another majority is free.
func TestValidityEndsBeforeTheKeysDo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		nodes := 1 + rnd.IntN(64)
		rate := rnd.Float64() * 0.3
		life := time.Duration(1+rnd.IntN(5000)) * time.Millisecond
		spare := life - time.Duration(float64(life)*rate) - 3*time.Millisecond
		if spare <= 1 {
			continue
		}
		patience := 1 + time.Duration(rnd.Int64N(int64(spare)))
		slowest := 2*patience/1000 + 1
		bubble(t, func(t *testing.T) {
			c := newCluster(t, nodes, WithNodeTimeout(patience), WithDrift(rate), WithTTL(life))
			for _, m := range c.masters {
				m.set(way{
					out:  time.Duration(rnd.Int64N(int64(slowest))) * 300,
					back: time.Duration(rnd.Int64N(int64(slowest))) * 300,
				})
			}
			called := time.Now()
			lock, err := c.TryLock(t.Context(), "k")
			if err != nil {
				require.NotErrorIs(t, err, ErrTaken, "seed %d", seed)
				return
			}
			end := time.Now().Add(lock.Remaining())
			require.False(t, end.After(called.Add(life-time.Duration(float64(life)*rate))), "seed %d", seed)
			// The key must outlive the validity on a quorum of nodes, by a clock that is fast by the drift.
			var ends []time.Time
			for _, m := range c.masters {
				if at := m.expiry("k"); !at.IsZero() {
					ends = append(ends, at.Add(-time.Duration(float64(life)*rate)))
				}
			}
			slices.SortFunc(ends, time.Time.Compare)
			quorum := nodes/2 + 1
			require.GreaterOrEqual(t, len(ends), quorum, "seed %d", seed)
			require.True(t, end.Before(ends[len(ends)-quorum]), "seed %d", seed)
		})
	}
}

func TestTheNodesAreToldTheWholeMillisecondsThatValidityCounts(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{
		time.Second, time.Second + 1, time.Second + time.Millisecond - 1, 1500*time.Millisecond + 999*time.Microsecond,
	} {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 3)
			lock := c.mustTryLock(t, "k", WithTTL(d))
			whole := d / time.Millisecond * time.Millisecond
			synctest.Wait() // the majority was enough for the call
			for _, m := range c.masters {
				require.Equal(t, whole, m.requests("set")[0].ttl)
			}
			require.Equal(t, whole-whole/100-2*time.Millisecond, lock.Remaining())
		})
	}
}

// stalled is a clock whose timers are late, as in a process that was stopped.
type stalled struct{ clock.Clock }

func (s stalled) AfterFunc(time.Duration, func()) (stop func() bool) {
	return func() bool { return true }
}

func TestAMajorityThatComesTooLateIsTooSlowAndUndone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5, WithTTL(300*time.Millisecond), WithClock(stalled{clock.Monotonic()}))
		for _, m := range c.masters {
			m.timeout = time.Second // so that the replies come at all
			m.set(way{back: 296 * time.Millisecond})
		}
		lock, err := c.TryLock(t.Context(), "k")
		require.Nil(t, lock)
		require.ErrorIs(t, err, ErrTooSlow)
		require.ErrorIs(t, err, ErrNotAcquired)
		require.NotErrorIs(t, err, ErrTaken)
		require.NotErrorIs(t, err, ErrNoQuorum)
		require.GreaterOrEqual(t, quorumError(t, err).Granted, 3)
		time.Sleep(time.Second)
		require.Empty(t, c.ours())
	})
}

// jumping is a clock that leaps when it has been read a number of times, as after a suspend.
type jumping struct {
	clock.Clock
	after int32
	leap  time.Duration
	reads atomic.Int32
}

func (j *jumping) Now() time.Duration {
	if j.reads.Add(1) > j.after {
		return j.Clock.Now() + j.leap
	}
	return j.Clock.Now()
}

// The process may be suspended between the verdict and the return. No handle is given out that is over already.
func TestALockThatRanOutBeforeItCouldBeReturnedIsTooSlowAndUndone(t *testing.T) {
	t.Parallel()
	ranOut := 0
	for reads := range int32(12) {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 1, WithClock(&jumping{Clock: clock.Monotonic(), after: reads, leap: ttl}))
			lock, err := c.TryLock(t.Context(), "k")
			switch {
			case err == nil:
				_ = lock.Unlock(t.Context()) // lost, where the leap came after all
			case quorumError(t, err).Unsent == 1:
				require.ErrorIs(t, err, ErrNoQuorum, "the leap came before the SET left")
			default:
				ranOut++
				require.ErrorIs(t, err, ErrTooSlow)
				require.NotErrorIs(t, err, ErrNoQuorum)
				require.Nil(t, lock)
			}
			time.Sleep(nodeTimeout)
			require.Empty(t, c.ours())
		})
	}
	require.Positive(t, ranOut, "the leap never fell where it matters")
}
