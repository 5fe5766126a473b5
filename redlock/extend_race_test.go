package redlock

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// disturb lets the masters answer after random times, and two of them forget at random moments.
func (c *cluster) disturb(rnd *rand.Rand) {
	for _, m := range c.masters {
		m.set(way{
			out:  time.Duration(rnd.Int64N(int64(20 * time.Millisecond))),
			back: time.Duration(rnd.Int64N(int64(20 * time.Millisecond))),
		})
	}
	for range 2 {
		m := c.masters[rnd.IntN(len(c.masters))]
		time.AfterFunc(time.Duration(rnd.Int64N(int64(300*time.Millisecond))), m.forget)
	}
}

// extendOften extends the lock from two goroutines until it has ended, every few milliseconds.
func extendOften(t *testing.T, lock *Lock) (wait func()) {
	t.Helper()
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			for lock.Err() == nil {
				_ = lock.Extend(t.Context())
				time.Sleep(time.Duration(3+4*i) * time.Millisecond)
			}
		})
	}
	return all.Wait
}

// F24: whatever renews or repairs at the time, once a lock is given up nothing makes a key of it again.
func TestNothingOfATokenIsSetOnceItIsGivenUp(t *testing.T) {
	t.Parallel()
	repairs := 0
	ways := map[string]func(t *testing.T, lock *Lock) (rest time.Duration){
		"unlock": func(t *testing.T, lock *Lock) time.Duration { _ = lock.Unlock(t.Context()); return 0 },
		"leave": func(t *testing.T, lock *Lock) time.Duration {
			_ = lock.Leave(t.Context(), 2*time.Second)
			return 2 * time.Second
		},
		"detach": func(_ *testing.T, lock *Lock) time.Duration { lock.Detach(); return ttl },
	}
	for name, giveUp := range ways {
		for seed := range rounds(300) {
			bubble(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 0))
				c := newCluster(t, 5)
				lock := c.mustHold(t, "k")
				c.disturb(rnd)
				wait := extendOften(t, lock)
				time.Sleep(time.Duration(rnd.Int64N(int64(300 * time.Millisecond))))
				began := time.Now()
				rest := giveUp(t, lock)
				wait()
				time.Sleep(time.Second)
				for i, m := range c.masters {
					over := false
					for _, r := range m.requests("") {
						over = over || r.script == "release" || r.script == "leave" || name == "detach" && r.at.After(began)
						if r.script == "repair" {
							repairs++
							require.False(t, over, "%s, seed %d, node %d: repaired", name, seed, i)
						}
					}
				}
				if rest == 0 {
					require.Empty(t, c.carriers(lock), "seed %d", seed)
				}
				time.Sleep(rest)
				require.Empty(t, c.carriers(lock), "%s, seed %d", name, seed)
			})
		}
	}
	require.Greater(t, repairs, 50, "else nothing raced")
}

func TestExtendOnceTheLockIsBeingGivenUpSendsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		c.each(way{back: 100 * time.Millisecond}, 0, 1, 2, 3, 4)
		go func() { check(t, lock.Unlock(t.Context()), nil) }()
		time.Sleep(50 * time.Millisecond)
		require.ErrorIs(t, lock.Extend(t.Context()), ErrUnlocked)
		require.ErrorIs(t, lock.KeepAlive(t.Context()), ErrUnlocked)
		time.Sleep(time.Second)
		require.Zero(t, c.sent("extend"))
	})
}

func TestAnExtendUnderWayHearsThatTheLockWasGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		lock.Done()
		c.each(way{back: 100 * time.Millisecond}, 0, 1, 2, 3, 4)
		ended := make(chan error, 1)
		go func() { ended <- lock.Extend(t.Context()) }()
		time.Sleep(50 * time.Millisecond)
		go func() { check(t, lock.Unlock(t.Context()), nil) }()
		require.Zero(t, took(func() { require.ErrorIs(t, <-ended, ErrUnlocked) }))
		time.Sleep(time.Second)
		require.Empty(t, c.ours())
	})
}
