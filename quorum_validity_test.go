package quorum_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/redlock"
)

// F13: for every TTL the lock ends for us before it ends on the node that keeps it third longest, so that nobody else can
// have a majority by then.
func TestValidityEndsBeforeTheKeysDo(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	random := rand.New(rand.NewPCG(13, 0))
	for range 40 {
		ttl := 3*time.Second + time.Duration(random.Int64N(int64(time.Minute)))
		lock, err := l.Lock(endsIn(t, time.Minute), "k", redlock.WithTTL(ttl))
		require.NoError(t, err)
		ends := time.Now().Add(lock.Remaining())
		tr.heldBy(5, "k")
		expiries := make([]time.Time, len(tr.looks))
		for i, look := range tr.looks {
			expiries[i] = tr.expiry(look, "k")
		}
		slices.SortFunc(expiries, time.Time.Compare)
		require.Negative(t, ends.Compare(expiries[2]), "ttl %v", ttl)
		require.NoError(t, unlockAgain(t, lock))
		tr.gone("k")
	}
}

// expiry returns a time before which the key does not expire, the latest that ten questions find.
func (tr *trial) expiry(look *redis.Client, key string) time.Time {
	tr.t.Helper()
	var best time.Time
	for range 10 {
		before := time.Now()
		left, err := look.PTTL(tr.t.Context(), tr.prefix+key).Result()
		require.NoError(tr.t, err)
		if at := before.Add(left - time.Millisecond); at.After(best) { // the answer is rounded
			best = at
		}
	}
	return best
}

// stepped is a clock whose wall clock is put forward or back while a lock is taken, and whose time can leap.
type stepped struct {
	clock.Clock
	wall, leap atomic.Int64
}

func (c *stepped) Now() time.Duration { return c.Clock.Now() + time.Duration(c.leap.Load()) }
func (c *stepped) Wall() time.Time {
	return c.Clock.Wall().Add(time.Duration(c.wall.Add(int64(time.Hour))))
}

// F17: durations come from a clock that nobody can put forward or back.
func TestStepsOfTheWallClockChangeNoValidity(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open(redlock.WithClock(&stepped{Clock: clock.System()}))
	before := time.Now()
	lock := tr.lockAll(l, "k")
	first := lock.Until() // every look at the wall clock is an hour later
	require.WithinRange(t, first, before.Add(time.Hour), before.Add(2*time.Hour))
	require.Greater(t, lock.Until().Sub(first), 59*time.Minute)
	require.InDelta(t, 10*time.Second, lock.Remaining()+time.Since(before), float64(generous))
	require.NoError(t, lock.Unlock(t.Context()))
	tr.gone("k")
}

// F11: this process stands still between sending and hearing, for longer than the TTL. The majority granted, and it is
// too late.
func TestAMajorityThatIsHeardTooLateIsTooSlow(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	c := &stepped{Clock: clock.System()}
	l := tr.open(redlock.WithClock(c))
	tr.warm(l)
	for _, n := range tr.Nodes {
		n.Proxy().Delay(0, time.Hour)
	}
	var lock *redlock.Lock
	var err error
	var calls sync.WaitGroup
	calls.Go(func() { lock, err = l.TryLock(t.Context(), "k") })
	// A node may still owe the answer to what came before, and is not asked then.
	require.True(t, until(generous, func() bool { return len(tr.holders("k")) >= 3 }))
	c.leap.Store(int64(time.Minute))
	for _, n := range tr.Nodes {
		n.Proxy().Delay(0, 0)
		n.Proxy().Hurry()
	}
	calls.Wait()
	require.Nil(t, lock)
	require.ErrorIs(t, err, redlock.ErrTooSlow)
	require.NotErrorIs(t, err, redlock.ErrTaken)
	require.NotErrorIs(t, err, redlock.ErrNoQuorum)
	tr.gone("k")
}
