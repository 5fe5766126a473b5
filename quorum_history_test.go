package quorum_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// hold is a time in which a caller could trust its lock, on one clock for all.
type hold struct{ from, to time.Time }

// history is what the holders of one key note.
type history struct {
	mu    sync.Mutex
	holds []hold
}

func (h *history) note(from, to time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds = append(h.holds, hold{from, to})
}

func (h *history) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.holds)
}

// overlaps returns the pairs that were held at once.
func (h *history) overlaps() [][2]hold {
	slices.SortFunc(h.holds, func(a, b hold) int { return cmp.Compare(a.from.UnixNano(), b.from.UnixNano()) })
	var found [][2]hold
	for i := 1; i < len(h.holds); i++ {
		if h.holds[i].from.Before(h.holds[i-1].to) {
			found = append(found, [2]hold{h.holds[i-1], h.holds[i]})
		}
	}
	return found
}

// Masters stop, links stall, break and lose replies, two nodes at a time at most; some locks are given back and some run
// out. From the return of Lock to its Unlock or the end of its validity nobody else holds the key.
func TestHoldersOfOneKeyNeverOverlapWhileNodesFail(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Stop)
	var h history
	const ttl = 800 * time.Millisecond
	var begun []func(ctx context.Context) error
	var l *redlock.Locker
	for caller := range 10 {
		if caller%2 == 0 {
			l = tr.open(redlock.WithTTL(ttl), redlock.WithNodeTimeout(200*time.Millisecond),
				redlock.WithBackoff(10*time.Millisecond, 60*time.Millisecond))
			tr.warm(l)
		}
		l := l // a pair of callers shares one
		random := rand.New(rand.NewPCG(uint64(caller), 1))
		begun = append(begun, func(ctx context.Context) error { return holdAtRandom(ctx, l, &h, random) })
	}
	const enough = 20
	ctx, cancel := context.WithCancel(endsIn(t, time.Minute))
	defer cancel()
	var g errgroup.Group
	g.Go(func() error {
		defer cancel()
		time.Sleep(12 * time.Second)
		until(time.Minute, func() bool { return h.count() > enough || ctx.Err() != nil }) // on a slow machine it takes longer
		return nil
	})
	for _, f := range begun {
		g.Go(func() error { return f(ctx) })
	}
	g.Go(func() error { return tr.disturb(ctx, rand.New(rand.NewPCG(1, 1))) })
	require.NoError(t, g.Wait())
	require.Empty(t, h.overlaps())
	t.Logf("%d holds", len(h.holds))
	require.Greater(t, len(h.holds), enough)
}

// holdAtRandom takes the lock until ctx ends, and gives it back after a while, or lets it run out.
func holdAtRandom(ctx context.Context, l *redlock.Locker, h *history, random *rand.Rand) error {
	for {
		lock, err := l.Lock(ctx, "k")
		from := time.Now()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		end := from.Add(lock.Remaining()) // counted from a later moment than the first: never too short
		if random.IntN(20) > 0 {
			time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
		} else {
			time.Sleep(lock.Remaining() + time.Millisecond)
		}
		given := time.Now()
		if given.Before(end) {
			end = given
		}
		err = lock.Unlock(ctx)
		h.note(from, end)
		if err != nil && !errors.Is(err, redlock.ErrNoQuorum) && !errors.Is(err, redlock.ErrLost) {
			return err
		}
	}
}

// disturb does one thing after the other to one or two nodes, until ctx ends.
func (tr *trial) disturb(ctx context.Context, random *rand.Rand) error {
	for ctx.Err() == nil {
		for _, i := range random.Perm(5)[:1+random.IntN(2)] {
			n := tr.Nodes[i]
			var err error
			switch random.IntN(6) {
			case 0:
				err = n.Stop(tr.t.Context())
			case 1:
				n.Proxy().BlackHole(true)
			case 2:
				n.Proxy().Delay(time.Duration(random.IntN(50))*time.Millisecond, time.Duration(random.IntN(50))*time.Millisecond)
			case 3:
				n.Proxy().Reset()
			case 4:
				n.Proxy().DropReplies(3, testcluster.ThenClose, "SET")
			case 5:
				n.Proxy().DropReplies(3, testcluster.ThenSilent, "EVALSHA")
			}
			if err != nil {
				return err
			}
		}
		time.Sleep(time.Duration(100+random.IntN(400)) * time.Millisecond)
		for _, n := range tr.Nodes {
			n.Proxy().Pass()
			if err := n.Continue(tr.t.Context()); err != nil {
				return err
			}
		}
	}
	return nil
}
