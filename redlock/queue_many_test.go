package redlock

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// All know when the life of a holder ends that has died, and ask by then: one has the lock at once, and the others go on waiting.
func TestTheEndOfADeadHoldersLifeIsNoStampede(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const waiters = 32
		c := newCrew(t, waiters, WithTTL(10*time.Second))
		key := c.keyAt(3)
		for _, m := range c.masters {
			m.hold(key, 5*time.Second)
		}
		ends, turns := time.Now().Add(5*time.Second), make(chan turn, waiters)
		for who := range waiters {
			c.queueUp(t.Context(), who, key, turns)
		}
		time.Sleep(time.Until(ends) - 1)
		before := c.sent("")
		first := <-turns
		require.NoError(t, first.err)
		require.LessOrEqual(t, first.at.Sub(ends), pollBound)
		time.Sleep(10 * trip)
		require.Less(t, c.sent("")-before, waiters*5*6, "what a waiter costs each node")
		require.NoError(t, first.lock.Unlock(t.Context()))
		for range waiters - 1 {
			c.mustHave(turns)
		}
		c.requireGone()
	})
}

// The starters of all processes at one instant are served, one after the other, each in about as long as its turn takes.
func TestManyThatStartTogetherAreServedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const starters = 32
		c := newCrew(t, 1, WithTTL(10*time.Second))
		dice := rand.New(rand.NewPCG(1, 0))
		for range starters - 1 {
			c.lockers = append(c.lockers, c.farFrom(t, time.Duration(1+dice.IntN(500))*time.Microsecond, dice.Perm(5)[:3], WithTTL(10*time.Second)))
		}
		turns := make(chan turn, starters)
		start := time.Now()
		for who, l := range c.lockers {
			go func() {
				lock, err := l.Lock(t.Context(), "k")
				turns <- turn{who, lock, err, time.Now()}
			}()
		}
		for range starters {
			c.mustHave(turns)
		}
		require.Less(t, time.Since(start), starters*10*trip)
		c.requireGone()
	})
}

// Whoever waits for several keys that others hold one of, or several, is served as well, if later.
func TestLocksOnKeysThatOverlapAreAllHadInTheEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const lockers, each = 6, 20
		c := newCrew(t, lockers, WithTTL(10*time.Second))
		over := make(chan time.Duration, lockers)
		inside := map[string]*int{"a": new(int), "b": new(int), "c": new(int), "d": new(int)} // each under its own lock
		start := time.Now()
		for who := range lockers {
			dice := rand.New(rand.NewPCG(uint64(who), 0))
			go func() {
				for range each {
					keys := []string{"a", "b", "c", "d"}
					dice.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
					keys = keys[:1+dice.IntN(3)]
					lock, err := c.lockers[who].Lock(t.Context(), keys[0], WithKeys(keys[1:]...))
					check(t, err, nil)
					for _, key := range keys {
						if *inside[key]++; *inside[key] != 1 {
							t.Errorf("%d have %s", *inside[key], key)
						}
					}
					time.Sleep(trip)
					for _, key := range keys {
						*inside[key]--
					}
					check(t, lock.Unlock(t.Context()), nil)
				}
				over <- time.Since(start)
			}()
		}
		var ends []time.Duration
		for range lockers {
			ends = append(ends, <-over)
		}
		t.Logf("%v", ends)
		require.Less(t, slices.Max(ends), lockers*each*20*trip)
		c.requireGone()
	})
}
