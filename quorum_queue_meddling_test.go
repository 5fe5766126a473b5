package quorum_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/redlock"
)

// waiterCommands is how many commands a waiter sends to one node in a second at most, whatever is published: hints are followed
// a hundred times a second, and each may cost the attempt, asking again three times, the undo and the place in the queue; one of a
// queue that nobody waits in is passed on by one command.
const waiterCommands = 700

// told collects what the hook for trouble is told.
type told struct {
	mu   sync.Mutex
	errs []redlock.Trouble
}

func (d *told) hook() redlock.Option {
	return redlock.WithHooks(redlock.Hooks{Trouble: func(_ context.Context, t redlock.Trouble) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.errs = append(d.errs, t)
	}})
}

// of tells whether anything with the text was told of the node.
func (d *told) of(node int, text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.errs, func(t redlock.Trouble) bool {
		return t.Node == node && t.Name != "" && strings.Contains(t.Err.Error(), text)
	})
}

func (d *told) all() []redlock.Trouble {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.errs)
}

// queueMeddler is somebody who may write and publish where waiters wait for key k.
type queueMeddler struct {
	look          *redis.Client // of the canary
	prefix        string
	list, channel string // of the key; of a waiter
}

func (m *queueMeddler) publish(ctx context.Context, payload string) error {
	return m.look.Publish(ctx, m.channel, payload).Err()
}

const nobodies = 50 // names of a queueMeddler in a queue: they count as waiters, and lengthen the poll

// meddlings are what anybody may do there, and what is told of it; "" where nothing strange is to be seen.
var meddlings = map[string]struct {
	does  func(ctx context.Context, m *queueMeddler, i int) error
	tells string
}{
	"no payload":     {func(ctx context.Context, m *queueMeddler, _ int) error { return m.publish(ctx, "") }, "names no queue"},
	"binary payload": {func(ctx context.Context, m *queueMeddler, _ int) error { return m.publish(ctx, "\xff\r\n\x00") }, "names no queue"},
	"long payload": {func(ctx context.Context, m *queueMeddler, i int) error {
		if i >= 10 {
			time.Sleep(time.Millisecond)
			return nil
		}
		return m.publish(ctx, strings.Repeat("x", 1<<20))
	}, "names no queue"},
	"another queue":   {func(ctx context.Context, m *queueMeddler, _ int) error { return m.publish(ctx, m.prefix+"~q:another") }, "more hints"},
	"hints like ours": {func(ctx context.Context, m *queueMeddler, _ int) error { return m.publish(ctx, m.list) }, "more hints"},
	"names of nobody": {func(ctx context.Context, m *queueMeddler, i int) error {
		if i >= nobodies {
			time.Sleep(time.Millisecond)
			return nil
		}
		return m.look.LPush(ctx, m.list, fmt.Sprint("nobody ", i)).Err()
	}, ""},
	"an empty queue": {func(ctx context.Context, m *queueMeddler, _ int) error { return m.look.Del(ctx, m.list).Err() }, ""},
	"a queue of another type": {func(ctx context.Context, m *queueMeddler, _ int) error {
		return m.look.Set(ctx, m.list, "text", time.Minute).Err()
	}, "WRONGTYPE"},
}

// What is published, and what is written into the queue, is never a grant, never a spin, and what is strange is told.
func TestMeddlersOnChannelsAndQueuesGrantNothingAndMakeNobodySpin(t *testing.T) {
	needQueues(t)
	for name, tt := range meddlings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t)
			var d told
			l := tr.open(d.hook())
			tr.warm(l)
			tr.take("k", time.Minute, all...)
			wait := want(t.Context(), l, "k")
			tr.awaitQueued("k", 1)
			at := tr.canary("k", tr.Addrs())
			m := &queueMeddler{look: tr.looks[at], prefix: tr.prefix, list: tr.prefix + "~q:k"}
			channels, err := m.look.PubSubChannels(t.Context(), tr.prefix+"~w:*").Result()
			require.NoError(t, err)
			require.Len(t, channels, 1)
			m.channel = channels[0]
			tr.meddle(func(ctx context.Context, i int) error { return tt.does(ctx, m, i) })
			if tt.tells != "" {
				require.True(t, until(generous, func() bool { return d.of(at, tt.tells) }), "%v", d.all())
			} else {
				require.Empty(t, d.all())
			}
			require.Empty(t, wait, "it has a lock that is somebody else's")
			require.NoError(t, m.look.Del(t.Context(), m.list).Err())
			mustBeInTime(t, 2*(nobodies+1)*10*time.Millisecond, func() {
				tr.free("k")
				w := <-wait
				require.NoError(t, w.err)
				require.NoError(t, unlockAgain(t, w.lock))
			})
		})
	}
}

// meddle does something as often as it can for a second, while nobody sends more than he may.
func (tr *trial) meddle(f func(ctx context.Context, i int) error) {
	tr.t.Helper()
	before := make([]int, len(tr.Nodes))
	for i, n := range tr.Nodes {
		before[i] = n.Proxy().Sent("")
	}
	start, i := time.Now(), 0
	for ; time.Since(start) < time.Second; i++ {
		require.NoError(tr.t, f(tr.t.Context(), i))
	}
	seconds := time.Since(start).Seconds()
	var rates []int
	for i, n := range tr.Nodes {
		rates = append(rates, int(float64(n.Proxy().Sent("")-before[i])/seconds))
	}
	tr.t.Logf("%d times; commands a second and node: %v", i, rates)
	require.LessOrEqual(tr.t, slices.Max(rates), waiterCommands)
}

// The canary lost the key, so every hint like ours is followed to it: it grants, and the others do not.
func TestHintsLikeOursWhileTheCanaryHasLostTheKeyMakeNobodySpin(t *testing.T) {
	needQueues(t)
	tr := begin(t)
	var d told
	l := tr.open(d.hook())
	tr.warm(l)
	tr.take("k", time.Minute, all...)
	wait := want(t.Context(), l, "k")
	tr.awaitQueued("k", 1)
	look := tr.looks[tr.canary("k", tr.Addrs())]
	channels, err := look.PubSubChannels(t.Context(), tr.prefix+"~w:*").Result()
	require.NoError(t, err)
	require.Len(t, channels, 1)
	require.NoError(t, look.Del(t.Context(), tr.prefix+"k").Err())
	tr.meddle(func(ctx context.Context, _ int) error { return look.Publish(ctx, channels[0], tr.prefix+"~q:k").Err() })
	require.Empty(t, wait)
	for i, value := range tr.values("k") {
		if value == foreignToken { // else it may be the waiter's own by now
			tr.must(i, "del", tr.prefix+"k")
		}
	}
	w := <-wait
	require.NoError(t, w.err)
	require.NoError(t, unlockAgain(t, w.lock))
}

// A release does its work whatever stands beside the key, and tells who holds what is wrong with it.
func TestAReleaseBesideAQueueOfAnotherTypeReleases(t *testing.T) {
	needQueues(t)
	t.Parallel()
	tr := begin(t)
	var d told
	l, other := tr.open(d.hook()), tr.open()
	at := tr.canary("k", tr.Addrs())
	for i, look := range tr.looks {
		require.NoError(t, look.HSet(t.Context(), tr.prefix+"~q:k", "a", "hash").Err(), "node %d", i)
	}
	for range 5 {
		held := tr.lockAll(l, "k", redlock.WithTTL(time.Minute))
		wait := want(t.Context(), other, "k")
		require.NoError(t, held.Unlock(t.Context()))
		w := <-wait
		require.NoError(t, w.err)
		require.NoError(t, unlockAgain(t, w.lock))
		tr.gone("k")
	}
	require.True(t, until(generous, func() bool { return d.of(at, "WRONGTYPE") }), "%v", d.all())
	for _, look := range tr.looks {
		require.NoError(t, look.Del(t.Context(), tr.prefix+"~q:k").Err())
	}
}
