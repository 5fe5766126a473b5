package suite

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/bench/contender"
)

// counters weighs what fenced locks leave on a node: one counter a key, here of keys of about fifteen bytes.
func (b *bench) counters(ctx context.Context, m *MemoryFigures) error {
	addr := b.nodes.Addrs()[0]
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	library, err := contender.FencedForHolding([]string{addr}, holdTTL)
	if err != nil {
		return err
	}
	defer field{library}.close()
	if err := b.greet(ctx, field{library}); err != nil {
		return err
	}
	if err := client.FlushAll(ctx).Err(); err != nil {
		return err
	}
	before, err := usedMemory(ctx, client)
	if err != nil {
		return err
	}
	keys := b.keys(b.Counters)
	b.timeAll("fenced", len(keys), func(i int) error {
		held, err := library.Acquire(ctx, keys[i])
		if err != nil {
			return err
		}
		return held.Unlock(ctx)
	})
	after, err := usedMemory(ctx, client)
	if err != nil {
		return err
	}
	if m.Counters, err = client.DBSize(ctx).Result(); err != nil {
		return err
	}
	m.CounterBytes = (after - before) / float64(max(m.Counters, 1))
	return client.FlushAll(ctx).Err()
}

// usedMemory is the bytes that the server at the other end of client has in use.
func usedMemory(ctx context.Context, client *redis.Client) (float64, error) {
	text, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("suite: no used_memory in %q", text)
}
