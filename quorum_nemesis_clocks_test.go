package quorum_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// beginWithClocks is begin with five masters whose wall clocks can be moved while they run. They are processes, whatever the masters of
// other tests are, unless real ones are not wanted at all. Where they are not to be had the test is skipped, or fails if nothing may be.
func beginWithClocks(t *testing.T) *trial {
	t.Helper()
	if os.Getenv("CLUSTER") == string(testcluster.Embedded) || os.Getenv("REDLOCK_ADDRS") != "" {
		t.Skip("the masters are to be others than processes of ours, whose clocks could be moved")
	}
	ctx, cancel := bounded()
	defer cancel()
	if err := testcluster.Present(ctx, testcluster.Processes); err != nil {
		require.Empty(t, os.Getenv("REDLOCK_REQUIRE"), "%v", err)
		t.Skip(err)
	}
	c, err := testcluster.Start(ctx, testcluster.Processes, 5, append(withRights(t), testcluster.MovableClocks())...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	tr := &trial{masters: watched(t, c), t: t, prefix: fmt.Sprintf("trial%d:", trials.Add(1))}
	t.Cleanup(tr.end)
	testcluster.Need(t, c, testcluster.Clock)
	return tr
}

// clocks sets the clocks of some nodes.
func (tr *trial) clocks(ahead time.Duration, rate float64, nodes ...int) {
	tr.t.Helper()
	tr.each(nodes, func(_ context.Context, n *testcluster.Node) error { return n.SetClock(ahead, rate) })
}

// Of five nodes that all carry a lock one is put an hour ahead, whichever, and forgets it: the other four are more than enough to keep
// everybody else out, and the next Extend gives it back to the fifth.
func TestNemesisOfClocksFindsNothingWhereOneOfFiveIsAnHourAhead(t *testing.T) {
	t.Parallel()
	tr := beginWithClocks(t)
	first, second := tr.rivals()
	for i := range tr.Nodes {
		key := fmt.Sprint("k", i)
		lock := tr.lockAll(first, key)
		fence := lock.Fence()
		tr.clocks(time.Hour, 1, i)
		require.NotContains(t, tr.holders(key), i, "its clock was not put forward")
		require.Len(t, tr.holders(key), 4)
		for range 20 {
			_, err := second.TryLock(t.Context(), key)
			require.ErrorIs(t, err, redlock.ErrTaken)
			require.Positive(t, lock.Remaining())
		}
		tr.heldBy(4, key) // the last of these is undone: where its key stands ours is not set again
		require.NoError(t, lock.Extend(t.Context()))
		tr.heldBy(5, key)
		require.NoError(t, unlockAgain(t, lock))
		tr.gone(key)
		next := tr.heldNow(second, key)
		require.Greater(t, next.Fence(), fence)
		require.NoError(t, unlockAgain(t, next.Lock))
		tr.gone(key)
		tr.clocks(0, 1, i)
	}
}

// Where three of the five that carry it are put an hour ahead, the lock is had twice, and the fence tells the two apart.
func TestNemesisOfClocksFindsTwoHoldersWhereThreeOfFiveAreAnHourAhead(t *testing.T) {
	t.Parallel()
	tr := beginWithClocks(t)
	first, second := tr.rivals()
	for round := range 5 {
		key := fmt.Sprint("k", round)
		nodes := []int{round, (round + 1) % 5, (round + 3) % 5}
		require.Empty(t, tr.holders(key))
		lock := tr.lockAll(first, key)
		from := time.Now()
		a := holding{lock, hold{from, from.Add(lock.Remaining())}}
		tr.clocks(time.Hour, 1, nodes...)
		tr.overlap(a, tr.heldNow(second, key), key)
		tr.clocks(0, 1, nodes...)
	}
}

// runner holds one fenced key to the very end of its validity, again and again, and writes with its fence right before that.
func (tr *trial) runner(ctx context.Context, l *redlock.Locker, j *judge, name string) error {
	const last = 3 * time.Millisecond // before the end
	for taken := 0; ctx.Err() == nil; taken++ {
		lock, err := l.TryLock(ctx, "k")
		from := time.Now()
		if err != nil {
			time.Sleep(200 * time.Microsecond)
			continue
		}
		h := hold{from, from.Add(lock.Remaining())}
		who := fmt.Sprint(name, taken)
		p := j.present(0, who, lock.Fence())
		if lock.Remaining() == 0 {
			continue
		}
		j.judge(p)
		time.Sleep(time.Until(h.to) - last)
		j.write(0, who, lock.Fence())
		time.Sleep(time.Until(h.to))
		if _, overlaps := j.ledgers[0].add(h); overlaps {
			j.overlaps.Add(1)
		}
		_ = lock.Unlock(ctx) // it is late on purpose
	}
	return nil
}

// ranAhead holds that a node's clock has gained what it should have by its rate since a moment.
func (tr *trial) ranAhead(look *redis.Client, rate float64, since time.Time) {
	tr.t.Helper()
	expected := time.Duration(float64(time.Since(since)) * (rate - 1))
	there, err := look.Time(tr.t.Context()).Result()
	require.NoError(tr.t, err)
	require.InDelta(tr.t, expected, time.Until(there), float64(expected/4+50*time.Millisecond))
}
