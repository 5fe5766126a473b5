package quorum_test

import (
	"math/rand/v2"
	"time"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// What a clock does within the drift of the load: a step and the rate that follows it take no more from a life of loadTTL than the
// drift leaves, (500 ms − 30 ms) / 1.083 being more than 500 ms × (1 − 0.16) − 2 ms.
const (
	stepAhead = 30 * time.Millisecond
	stepBack  = -50 * time.Millisecond
	fastRate  = 1.083
	slowRate  = 0.95
)

// emptyAfter is for how long a node is away that comes back without what it knew: longer than any lock lives that two may want, and
// than half a second and what clocks are apart, which is what fences need that a node forgot.
const emptyAfter = 1500 * time.Millisecond

// between is a random time from least to most.
func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)))
}

func (s *siege) kill(i int, random *rand.Rand) error {
	ctx := s.tr.t.Context()
	if err := s.tr.Nodes[i].Kill(ctx); err != nil {
		return err
	}
	upTo(random, 300*time.Millisecond)
	return s.tr.Nodes[i].Start(ctx, false)
}

// stop lets a node stand still, sometimes for longer than any lock lives.
func (s *siege) stop(i int, random *rand.Rand) error {
	ctx := s.tr.t.Context()
	if err := s.tr.Nodes[i].Stop(ctx); err != nil {
		return err
	}
	time.Sleep(between(random, 50*time.Millisecond, 3*loadTTL/2))
	return s.tr.Nodes[i].Continue(ctx)
}

// empty replaces a node by another at its address, which has a clock of its own. Nobody reaches it before it has what somebody else
// had there.
func (s *siege) empty(i int, _ *rand.Rand) error {
	s.forgets.Lock()
	defer s.forgets.Unlock()
	ctx, node := s.tr.t.Context(), s.tr.Nodes[i]
	if err := node.Kill(ctx); err != nil {
		return err
	}
	node.Proxy().Refuse(true)
	defer node.Proxy().Refuse(false)
	time.Sleep(emptyAfter)
	if err := node.Start(ctx, true); err != nil {
		return err
	}
	return s.others.plant(ctx, i)
}

// partition has the kernel drop the packets to and from a node, or its proxy, where this process may not ask the kernel.
func (s *siege) partition(i int, random *rand.Rand) error {
	ctx, node := s.tr.t.Context(), s.tr.Nodes[i]
	if !node.Can(testcluster.Partition) {
		return s.swallow(i, random)
	}
	if err := node.Partition(ctx); err != nil {
		return err
	}
	time.Sleep(between(random, 100*time.Millisecond, 3*loadTTL/2))
	return node.Heal(ctx)
}

func (s *siege) swallow(i int, random *rand.Rand) error {
	p := s.tr.Nodes[i].Proxy()
	p.BlackHole(true)
	defer p.BlackHole(false)
	time.Sleep(between(random, 100*time.Millisecond, 3*loadTTL/2))
	return nil
}

func (s *siege) pause(i int, random *rand.Rand) error {
	d := between(random, 50*time.Millisecond, loadTTL)
	if err := s.tr.looks[i].ClientPause(s.tr.t.Context(), d).Err(); err != nil {
		return err
	}
	time.Sleep(d)
	return nil
}

func (s *siege) flush(i int, _ *rand.Rand) error {
	return s.tr.looks[i].ScriptFlush(s.tr.t.Context()).Err()
}

// ahead puts a node's clock forward, which goes fast from there, and in the end back to the true time. However long that takes, the one
// step is all that a key's life loses beside the rate.
func (s *siege) ahead(i int, random *rand.Rand) error {
	node := s.tr.Nodes[i]
	if err := node.SetClock(stepAhead, fastRate); err != nil {
		return err
	}
	time.Sleep(between(random, loadTTL, 2*loadTTL))
	return node.SetClock(0, 1)
}

// behind puts a node's clock back, which goes slow from there, and lets it catch up by going fast: there is no step ahead.
func (s *siege) behind(i int, random *rand.Rand) error {
	node, begun := s.tr.Nodes[i], time.Now()
	if err := node.SetClock(stepBack, slowRate); err != nil {
		return err
	}
	time.Sleep(between(random, loadTTL/2, loadTTL))
	late := stepBack - time.Duration(float64(time.Since(begun))*(1-slowRate))
	if err := node.SetClock(late, fastRate); err != nil {
		return err
	}
	time.Sleep(time.Duration(float64(-late) / (fastRate - 1)))
	return node.SetClock(0, 1)
}
