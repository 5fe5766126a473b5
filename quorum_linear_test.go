package quorum_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

const (
	linearClients = 4
	linearLeast   = 6 * time.Second  // of history, and
	linearMost    = 90 * time.Second // so long at the most, where the machine is so slow to show what must be in it

	shortTTL     = time.Second // of locks past which holders sleep
	shortTimeout = 350 * time.Millisecond
)

// linearLockers are one for each client.
func (tr *trial) linearLockers(ttl, timeout time.Duration) (all []*redlock.Locker) {
	tr.t.Helper()
	for range linearClients {
		all = append(all, tr.open(redlock.WithTTL(ttl), redlock.WithNodeTimeout(timeout), redlock.WithBackoff(5*time.Millisecond, 20*time.Millisecond)))
	}
	return all
}

// pest hangs masters, kills them and brings them back with what they had, and loses their replies.
type pest struct {
	tr                 *trial
	hangs, kills, lost atomic.Int64
}

// torment does one thing after the other, by two hands of which each has nodes of its own: two are in trouble at the most.
func (p *pest) torment(ctx context.Context) error {
	var hands errgroup.Group
	seed := testSeed(p.tr.t)
	for hand, nodes := range [][]int{{0, 1, 4}, {2, 3}} {
		hands.Go(func() error {
			random := rand.New(rand.NewPCG(seed, uint64(hand)))
			for deed := hand; ctx.Err() == nil; deed++ {
				begun := time.Now()
				n := p.tr.Nodes[nodes[random.IntN(len(nodes))]]
				if err := []func(*testcluster.Node, *rand.Rand) error{p.hang, p.lose, p.kill}[deed%3](n, random); err != nil {
					return err
				}
				time.Sleep(2 * time.Since(begun))  // where a kill takes seconds locks take as much longer
				upTo(random, 900*time.Millisecond) // in which most of the locks are had
			}
			return nil
		})
	}
	return hands.Wait()
}

func (p *pest) hang(n *testcluster.Node, random *rand.Rand) error {
	p.hangs.Add(1)
	if err := n.Stop(p.tr.t.Context()); err != nil {
		return err
	}
	upTo(random, 400*time.Millisecond)
	return n.Continue(p.tr.t.Context())
}

func (p *pest) kill(n *testcluster.Node, random *rand.Rand) error {
	p.kills.Add(1)
	if err := n.Kill(p.tr.t.Context()); err != nil {
		return err
	}
	upTo(random, 200*time.Millisecond)
	return n.Start(p.tr.t.Context(), false)
}

func (p *pest) lose(n *testcluster.Node, random *rand.Rand) error {
	p.lost.Add(1)
	n.Proxy().DropReplies(1+random.IntN(3), testcluster.ThenClose, "SET", "EVALSHA")
	return nil
}

// did tells whether all of it was done.
func (p *pest) did() bool { return p.hangs.Load() > 0 && p.kills.Load() > 0 && p.lost.Load() > 0 }

func (p *pest) String() string {
	return fmt.Sprintf("%d hangs, %d kills, replies lost %d times", p.hangs.Load(), p.kills.Load(), p.lost.Load())
}

// record lets clients use the number while masters hang, die and lose replies, until all that is to be seen is in the history,
// and holds that it is linearizable.
func (tr *trial) record(n *shared, lazy int, ttl time.Duration, lockers []*redlock.Locker) {
	t := tr.t
	t.Helper()
	tr.warm(lockers[0])
	p := &pest{tr: tr}
	n.lossy = true
	ctx, cancel := context.WithCancel(t.Context())
	tormented := make(chan error, 1)
	go func() { tormented <- p.torment(ctx) }()
	stop := sync.OnceValue(func() error { cancel(); return <-tormented })
	defer func() { _ = stop() }() // also where the clients fail
	start := time.Now()
	seen := func() bool {
		entries, opens, stale := n.sum()
		return p.did() && entries >= 20 && opens > 0 && (stale > 0 || lazy == 0)
	}
	n.play(t, lazy, lockers, linearMost, func() bool { return time.Since(start) > linearLeast && seen() })
	require.NoError(t, stop())
	began := time.Now()
	n.mustBeLinearizable(t, n.model())
	entries, opens, stale := n.sum()
	t.Logf("%d operations, %d of them open, %d besides refused as stale; %d holders slept; %v; checked in %v",
		entries, opens, stale, n.slept.Load(), p, time.Since(began))
	require.True(t, seen(), "not all that was to be seen was")
	// A queue on a master that died before it was left lives for as long as the lock that was waited for, and a second.
	require.True(t, until(ttl+generous, func() bool { return len(tr.keys()) == 0 }), "%v", tr.keys())
}

// Holders stand still past the end of their locks in the middle of a write. What comes of it is refused, and what is not
// refused is a history of one register.
func TestARegisterBehindAFenceIsLinearizableThoughHoldersSleep(t *testing.T) {
	t.Parallel()
	tr := beginAlone(t, []testcluster.Fault{testcluster.Stop, testcluster.KillKeep}, testcluster.Persistent())
	tr.record(share(t, false, true), 12, shortTTL, tr.linearLockers(shortTTL, shortTimeout))
}

// Nothing but the lock keeps the two steps of an increment together, and holders heed its end.
func TestACounterUnderTheLockIsLinearizable(t *testing.T) {
	t.Parallel()
	tr := beginAlone(t, []testcluster.Fault{testcluster.Stop, testcluster.KillKeep}, testcluster.Persistent())
	const ttl = 3 * time.Second
	tr.record(share(t, true, false), 0, ttl, tr.linearLockers(ttl, 500*time.Millisecond))
}

// The same clients on the same number, without the lock or without the fence, make histories that are refused.
func TestWithoutTheLockOrTheFenceHistoriesAreNotLinearizable(t *testing.T) {
	t.Parallel()
	for name, adds := range map[string]bool{"a register without the lock": false, "a counter without the lock": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := share(t, adds, false)
			n.play(t, 0, make([]*redlock.Locker, linearClients), linearMost, func() bool {
				entries, _, _ := n.sum()
				return entries >= 100
			})
			require.Equal(t, porcupine.Illegal, n.check(n.model()))
		})
	}
	t.Run("a register under the lock, without the fence", func(t *testing.T) {
		t.Parallel()
		tr := begin(t)
		n := share(t, false, false)
		looked := 0
		n.play(t, 6, tr.linearLockers(shortTTL, shortTimeout), linearMost, func() bool {
			entries, _, _ := n.sum()
			if n.slept.Load() == 0 || entries < looked+10 {
				return false
			}
			looked = entries
			return n.check(n.model()) == porcupine.Illegal
		})
		entries, _, _ := n.sum()
		t.Logf("%d operations, %d holders slept", entries, n.slept.Load())
		require.Equal(t, porcupine.Illegal, n.check(n.model()))
	})
}
