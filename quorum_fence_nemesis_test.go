package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// awayLeast is for how long a node is away at the least that comes back without what it knew: longer than any lock lives, and
// than the clocks that fences fall back on are apart.
const awayLeast = 4 * time.Second

// nemesis does to nodes what operators and their machines do.
type nemesis struct {
	tr     *trial
	stops  atomic.Int64
	kept   atomic.Int64
	older  atomic.Int64
	emptys atomic.Int64
}

func (n *nemesis) String() string {
	return fmt.Sprintf("%d stops, %d restarts with the data, %d with older data, %d empty",
		n.stops.Load(), n.kept.Load(), n.older.Load(), n.emptys.Load())
}

// haunt does one thing after the other to one of the nodes at a time, until ctx ends; in the end all of them run.
func (n *nemesis) haunt(ctx context.Context, nodes []int, random *rand.Rand) error {
	for deed := 0; ctx.Err() == nil; deed++ {
		i := nodes[random.IntN(len(nodes))]
		do := []func(int, *rand.Rand) error{n.stop, n.restartKept, n.restartOlder, n.restartEmpty}[deed%4]
		if err := do(i, random); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		upTo(random, time.Second)
	}
	return nil
}

func upTo(random *rand.Rand, d time.Duration) { time.Sleep(time.Duration(random.Int64N(int64(d)))) }

func (n *nemesis) stop(i int, random *rand.Rand) error {
	n.stops.Add(1)
	ctx := n.tr.t.Context()
	if err := n.tr.Nodes[i].Stop(ctx); err != nil {
		return err
	}
	upTo(random, 2*time.Second)
	return n.tr.Nodes[i].Continue(ctx)
}

func (n *nemesis) restartKept(i int, random *rand.Rand) error {
	n.kept.Add(1)
	ctx := n.tr.t.Context()
	if err := n.tr.Nodes[i].Kill(ctx); err != nil {
		return err
	}
	upTo(random, time.Second)
	return n.tr.Nodes[i].Start(ctx, false)
}

func (n *nemesis) restartEmpty(i int, _ *rand.Rand) error {
	n.emptys.Add(1)
	ctx := n.tr.t.Context()
	if err := n.tr.Nodes[i].Kill(ctx); err != nil {
		return err
	}
	time.Sleep(awayLeast)
	return n.tr.Nodes[i].Start(ctx, true)
}

// restartOlder brings the node back as it was two seconds before it died. No client reaches it before it has that.
func (n *nemesis) restartOlder(i int, _ *rand.Rand) error {
	n.older.Add(1)
	ctx := n.tr.t.Context()
	b, err := n.tr.backup(ctx, i)
	for err == nil && b.counters == 0 { // it was empty a moment ago, and no client has found it since
		time.Sleep(100 * time.Millisecond)
		b, err = n.tr.backup(ctx, i)
	}
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	node := n.tr.Nodes[i]
	if err := node.Kill(ctx); err != nil {
		return err
	}
	node.Proxy().Refuse(true)
	defer node.Proxy().Refuse(false)
	time.Sleep(awayLeast)
	if err := node.Start(ctx, true); err != nil {
		return err
	}
	return n.tr.restore(ctx, i, b)
}

// backup is what a node had, with what was left of its life.
type backup struct {
	taken    time.Time
	keys     []string
	counters int // among them
	texts    []*redis.StringCmd
	lives    []*redis.DurationCmd
}

// backup reads all of the trial's keys on a node.
func (tr *trial) backup(ctx context.Context, i int) (*backup, error) {
	b := &backup{taken: time.Now()}
	found := tr.looks[i].Scan(ctx, 0, tr.prefix+"*", 1000).Iterator()
	pipe := tr.looks[i].Pipeline()
	for found.Next(ctx) {
		b.keys = append(b.keys, found.Val())
		if strings.HasPrefix(found.Val(), tr.prefix+counterTag) {
			b.counters++
		}
		b.texts = append(b.texts, pipe.Get(ctx, found.Val()))
		b.lives = append(b.lives, pipe.PTTL(ctx, found.Val()))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	return b, found.Err()
}

// restore writes a backup to an empty node, but for what has run out since.
func (tr *trial) restore(ctx context.Context, i int, b *backup) error {
	pipe := tr.looks[i].Pipeline()
	for j, key := range b.keys {
		left := b.lives[j].Val() - time.Since(b.taken)
		if b.texts[j].Err() != nil || left < time.Millisecond {
			continue
		}
		pipe.Set(ctx, key, b.texts[j].Val(), left)
	}
	_, err := pipe.Exec(ctx)
	return err
}
