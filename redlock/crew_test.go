package redlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/node"
)

// trip is a round trip to any master of a crew.
const trip = 2 * time.Millisecond

// unpolled are settings with which nothing but a hint can end a wait in a test.
func unpolled() []Option { return []Option{WithBackoff(time.Hour, time.Hour), WithTTL(24 * time.Hour)} }

// crew is Lockers of as many processes over the same masters.
type crew struct {
	*cluster
	t       *testing.T
	lockers []*Locker
}

func newCrew(t *testing.T, n int, opts ...Option) *crew {
	t.Helper()
	c := &crew{cluster: primed(t, 5, opts...), t: t}
	c.each(way{out: trip / 2, back: trip / 2}, 0, 1, 2, 3, 4)
	c.lockers = append(c.lockers, c.Locker)
	for range n - 1 {
		c.lockers = append(c.lockers, c.another(t, opts...))
	}
	return c
}

// turn is what a call of Lock came to.
type turn struct {
	who  int
	lock *Lock
	err  error
	at   time.Time
}

// queueUp starts a call of Lock by one of the crew, which has what it waits for in time for the next to come behind it.
func (c *crew) queueUp(ctx context.Context, who int, key string, into chan<- turn, opts ...LockOption) {
	go func() {
		lock, err := c.lockers[who].Lock(ctx, key, opts...)
		into <- turn{who, lock, err, time.Now()}
	}()
	time.Sleep(10 * trip)
}

// mustHave is the next turn, which must be a lock, and is given back.
func (c *crew) mustHave(turns <-chan turn) turn {
	c.t.Helper()
	got := <-turns
	require.NoError(c.t, got.err)
	require.NoError(c.t, got.lock.Unlock(c.t.Context()))
	return got
}

// waiting are the ids in the queue of a key, on its canary.
func (c *crew) waiting(key string) []string {
	wire := c.prefixed(key)
	return c.masters[c.core.canary(wire)].store.List(time.Now(), c.core.helper(queueTag, wire).(string))
}

// ids are what some of the crew are called in a queue.
func (c *crew) ids(who ...int) (all []string) {
	for _, i := range who {
		all = append(all, c.lockers[i].core.id.(string))
	}
	return all
}

// requireGone requires that a while after everything is done nothing of it is left: no key, no list, no subscription, nobody who
// listens, and no request.
func (c *crew) requireGone() {
	c.t.Helper()
	time.Sleep(2 * time.Second)
	synctest.Wait()
	require.Empty(c.t, c.ours())
	for i, m := range c.masters {
		require.Zero(c.t, m.store.Subscribers(), "node %d", i)
		require.Zero(c.t, m.ears.Load(), "node %d", i)
		require.Empty(c.t, m.lists(), "node %d", i)
	}
	before := c.sent("")
	time.Sleep(time.Hour)
	require.Equal(c.t, before, c.sent(""))
	for _, l := range c.lockers {
		require.Empty(c.t, l.core.lines.byKey)
		require.Empty(c.t, l.core.ears.byNode)
	}
}

// path is the way of one process to a master, which is longer than that of others.
type path struct {
	*master
	extra time.Duration
}

func (p path) Exec(batch []*node.Command) error {
	p.busy.Add(1)
	defer p.busy.Add(-1)
	sleep(p.extra)
	return p.master.Exec(batch)
}

// farFrom is a Locker of another process, whose requests to some nodes come in later than those of others.
func (c *cluster) farFrom(tb testing.TB, extra time.Duration, nodes []int, opts ...Option) *Locker {
	tb.Helper()
	paths := make([]node.Transport, len(c.masters))
	for i, m := range c.masters {
		paths[i] = m
	}
	for _, i := range nodes {
		paths[i] = path{c.masters[i], extra}
	}
	return c.over(tb, paths, opts...)
}
