package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// asUser makes the user of one of the files in docs/acl on all masters, and returns the URLs of its clients.
func (tr *trial) asUser(file string) []string {
	tr.t.Helper()
	user, rule := ruleOf(tr.t, file, tr.prefix)
	args := []any{"acl", "setuser", user}
	for _, word := range rule {
		args = append(args, word)
	}
	urls := make([]string, len(tr.Nodes))
	for i, n := range tr.Nodes {
		tr.do(i, []any{"acl", "deluser", user}, args...)
		tr.must(i, "acl", "log", "reset")
		urls[i] = fmt.Sprintf("redis://%s:%s@%s", user, rightPassword, n.Addr())
	}
	return urls
}

// refusals are the commands and channels that the masters refused to anybody.
func (tr *trial) refusals() []string {
	tr.t.Helper()
	var all []string
	for _, look := range tr.looks {
		entries, err := look.ACLLog(tr.t.Context(), 1000).Result()
		require.NoError(tr.t, err)
		for _, e := range entries {
			all = append(all, e.Reason+" "+e.Object)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// everyCall makes all calls there are on locks of l and of another Locker with the same rights.
func (tr *trial) everyCall(l, other *redlock.Locker) {
	t := tr.t
	t.Helper()
	tr.warm(l)
	lock := tr.lockAll(l, "a", redlock.WithKeys("b", "c"), redlock.WithLabel("me"))
	require.NoError(t, lock.Extend(t.Context()))
	_, err := other.TryLock(t.Context(), "b")
	require.ErrorIs(t, err, redlock.ErrTaken)
	seen, err := other.Inspect(t.Context(), "a")
	require.NoError(t, err)
	_, label := seen.Holder()
	require.Equal(t, "me", label)
	for _, n := range seen.Nodes {
		require.NoError(t, n.Err)
	}
	resumed, err := other.Resume(t.Context(), "a", lock.Detach(), redlock.WithKeys("b", "c"))
	require.NoError(t, err)
	require.NoError(t, resumed.Leave(t.Context(), time.Millisecond))
	tr.gone("a")
	require.NoError(t, l.Do(t.Context(), "a", func(ctx context.Context, _ *redlock.Lock) error {
		_, err := other.Lock(endsIn(t, 300*time.Millisecond), "a") // queues, and takes itself off
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return ctx.Err()
	}))
}

// contention lets Lockers with the same rights take turns, and holds that they kept apart.
func (tr *trial) contention(lockers []*redlock.Locker, sections int) {
	tr.t.Helper()
	counter, seen := 0, atomic.Int64{}
	g, ctx := errgroup.WithContext(endsIn(tr.t, time.Minute))
	for i, l := range lockers {
		g.Go(func() error {
			for range sections {
				lock, err := l.Lock(ctx, "k")
				if err != nil {
					return fmt.Errorf("locker %d: %w", i, err)
				}
				counter++ // the race detector looks on
				seen.Add(1)
				if err := lock.Unlock(ctx); err != nil {
					return fmt.Errorf("locker %d: %w", i, err)
				}
			}
			return nil
		})
	}
	require.NoError(tr.t, g.Wait())
	require.Equal(tr.t, len(lockers)*sections, counter)
	require.EqualValues(tr.t, counter, seen.Load())
}

// rights opens Lockers with the rights of a file, makes all calls, lets them contend, and has a node hang and be asked again.
func (tr *trial) rights(file string, d *told) {
	t := tr.t
	t.Helper()
	urls := tr.asUser(file)
	var lockers []*redlock.Locker
	for range 4 {
		lockers = append(lockers, tr.openAt(urls, d.hook(), redlock.WithNodeTimeout(500*time.Millisecond)))
	}
	tr.everyCall(lockers[0], lockers[1])
	tr.contention(lockers, 5)
	tr.each([]int{1}, stop)
	lock := tr.lock(lockers[0], "k")
	time.Sleep(600 * time.Millisecond)
	require.NoError(t, lock.Unlock(t.Context()))
	tr.each([]int{1}, cont)
	tr.warm(lockers[0]) // a probe that is refused is an answer, too
}

// The rights for hints are enough for everything: nothing is refused, and nothing is told.
func TestWithTheRightsForHintsNothingElseIsNeeded(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Config, testcluster.Stop)
	var d told
	tr.rights("hints.acl", &d)
	require.Empty(t, tr.refusals())
	for _, trouble := range d.all() {
		require.NotContains(t, trouble.Err.Error(), "NOPERM")
	}
}

// With the rights for locking alone everything works, by asking now and then, and the hook tells what is missing.
func TestWithTheRightsForLockingAloneWaitersPollAndTheHookTells(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Config, testcluster.Stop)
	var d told
	tr.rights("locking.acl", &d)
	at := tr.canary("k", tr.Addrs())
	require.True(t, until(generous, func() bool { return d.of(at, "NOPERM") || d.of(at, "permission") }), "%v", d.all())
	t.Logf("refused: %q", tr.refusals())
	for _, refused := range tr.refusals() {
		require.Regexp(t, `^(command (subscribe|l[a-z]+)|channel .*)$`, refused, "what locking alone does not take")
	}
}
