package redlock

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// befall has something happen to a master, and to its network, as chance will have it.
func (c *crew) befall(rnd *rand.Rand) {
	near := way{out: trip / 2, back: trip / 2}
	m := c.masters[rnd.IntN(len(c.masters))]
	switch rnd.IntN(10) {
	case 0:
		m.set(way{down: errRefused})
	case 1:
		m.set(way{out: trip / 2, back: trip / 2, mute: true})
	case 2:
		m.set(way{out: trip / 2, back: trip / 2, deaf: errRefused})
	case 3:
		m.set(way{out: 20 * trip, back: 5 * trip})
	case 4:
		m.set(way{drop: true})
	case 5:
		m.breakStreams()
	case 6:
		m.put("del", m.queueOf("k"))
	case 7:
		m.put("publish", channelTag+c.ids(rnd.IntN(len(c.lockers)))[0], queueTag+"k")
	default:
		for _, m := range c.masters {
			m.set(near)
		}
	}
}

func (m *master) queueOf(key string) string { return queueTag + key }

// Whatever befalls one network after the other, no two have the lock at once, everybody has it in the end, and nothing stays.
func TestWaitersOfManyProcessesSurviveWhatBefallsTheNetwork(t *testing.T) {
	t.Parallel()
	for seed := range rounds(20) {
		bubble(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			const lockers, each = 4, 10
			c := newCrew(t, lockers, WithTTL(5*time.Second))
			over := make(chan struct{}, 2*lockers)
			inside := 0
			for who := range 2 * lockers {
				pace := rand.New(rand.NewPCG(seed, uint64(who)+1))
				go func() {
					defer func() { over <- struct{}{} }()
					for range each {
						c.turnOf(t, pace, who%lockers, &inside)
					}
				}()
			}
			for left := 2 * lockers; left > 0; {
				select {
				case <-over:
					left--
				case <-time.After(time.Duration(rnd.IntN(60)) * time.Millisecond):
					c.befall(rnd)
				}
			}
			for _, m := range c.masters {
				m.set(way{out: trip / 2, back: trip / 2})
			}
			c.settle(t)
			time.Sleep(10 * time.Second) // until what is owed by the others is paid, and no list is left
			require.Empty(t, c.ours(), "seed %d", seed)
			c.requireGone()
		})
	}
}

// turnOf is one turn, of a caller that may lose its patience, or break off once it has the lock.
func (c *crew) turnOf(t *testing.T, rnd *rand.Rand, who int, inside *int) {
	t.Helper()
	patience := time.Hour
	if rnd.IntN(4) == 0 {
		patience = time.Duration(rnd.IntN(200)) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lock, err := c.lockers[who].Lock(ctx, "k")
	if err != nil {
		check(t, err, context.DeadlineExceeded)
		return
	}
	*inside++
	if *inside != 1 {
		t.Errorf("%d have the lock", *inside)
	}
	time.Sleep(time.Duration(rnd.IntN(5)) * time.Millisecond)
	*inside--
	_ = lock.Unlock(t.Context()) // of a network that is down this and that may be said
}
