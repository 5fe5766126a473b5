package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/fence"
	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// shared is a number on a server of its own, which knows nothing of locks. To change it takes two steps, between which anybody
// may come: what keeps them together is the lock, and where a holder stands still past its end, the guard.
type shared struct {
	annals
	server *testcluster.Node
	client *redis.Client
	guard  *fence.Redis // nil: it takes a write from anybody
	adds   bool         // it is a counter and not a register
	lossy  bool         // replies to writes are lost, now and then
	lost   atomic.Int64 // so many
	slept  atomic.Int64 // holders that stood still past the end of their lock, between the two steps
	latest atomic.Int64 // the highest fence that a reader showed
}

// mostLost is how many replies to writes are lost: each makes twice as many histories possible for the checker.
const mostLost = 12

const (
	sharedKey = "number"
	guardKey  = "guard of the number"
)

var (
	readGuarded  = fence.NewScript("return redis.call('GET', KEYS[1])")
	writeGuarded = fence.NewScript("redis.call('SET', KEYS[1], ARGV[1])")
)

// share puts a number of 0 on a server of its own.
func share(t *testing.T, adds, guarded bool) *shared {
	t.Helper()
	n := &shared{server: testcluster.ForTest(t, 1).Nodes[0], adds: adds}
	// Sent once: a write that the client sent again could meet a newer fence, and be refused though it happened.
	n.client = redis.NewClient(&redis.Options{Addr: n.server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, n.client.Close()) })
	require.NoError(t, n.client.Del(t.Context(), guardKey).Err()) // where the server is somebody else's it may have been here before
	require.NoError(t, n.client.Set(t.Context(), sharedKey, 0, 0).Err())
	if guarded {
		n.guard = fence.NewRedis(n.client, guardKey)
	}
	return n
}

func (n *shared) model() porcupine.Model {
	if n.adds {
		return counter
	}
	return register
}

func (n *shared) read(ctx context.Context, number int64) (int64, error) {
	if n.guard == nil {
		return n.client.Get(ctx, sharedKey).Int64()
	}
	// The reader shows its fence, too: else an older holder could write between a newer one's two steps.
	text, err := n.guard.Run(ctx, number, readGuarded, []string{sharedKey})
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(fmt.Sprint(text), 10, 64)
}

func (n *shared) write(ctx context.Context, number, value int64) error {
	if n.guard == nil {
		return n.client.Set(ctx, sharedKey, value, 0).Err()
	}
	_, err := n.guard.Run(ctx, number, writeGuarded, []string{sharedKey}, value)
	return err
}

// player is one client of the number.
type player struct {
	*shared
	id     int
	locker *redlock.Locker // nil: it takes no lock
	lazy   int             // of so many times it stands still past the end of its lock once; 0: never
	random *rand.Rand
	wrote  int64
}

// play lets clients use the number, each on a Locker of its own, until the function says enough, or limit has passed.
func (n *shared) play(t *testing.T, lazy int, lockers []*redlock.Locker, limit time.Duration, enough func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seed := testSeed(t)
	var g errgroup.Group
	for i, l := range lockers {
		p := &player{shared: n, id: i, locker: l, lazy: lazy, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		g.Go(func() error {
			for ctx.Err() == nil {
				if err := p.once(ctx); err != nil {
					return fmt.Errorf("client %d: %w", p.id, err)
				}
			}
			return nil
		})
	}
	until(limit, enough)
	cancel()
	require.NoError(t, g.Wait())
}

// once makes one operation, under the lock.
func (p *player) once(ctx context.Context) error {
	in := asked{write: p.random.IntN(4) > 0}
	if in.write && !p.adds {
		p.wrote++
		in.value = p.wrote<<8 + int64(p.id) + 1 // which nobody else writes, ever
	}
	began := p.begin()
	if p.locker == nil {
		return p.operate(in, began, nil)
	}
	var terms []redlock.LockOption
	if p.guard != nil {
		terms = []redlock.LockOption{redlock.WithFencing()}
	}
	lock, err := p.locker.Lock(ctx, "k", terms...)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	err = p.operate(in, began, lock)
	// Where it fails the key runs out, and a lock that ran out is not ours to give back.
	if end := lock.Unlock(context.WithoutCancel(ctx)); end != nil && !errors.Is(end, redlock.ErrLost) && !errors.Is(end, redlock.ErrNoQuorum) {
		err = errors.Join(err, end)
	}
	return err
}

// operate reads the number and, of a write, writes it. Of a read that failed there is nothing to note; a write that failed in any
// way but by the guard's word may have happened.
func (p *player) operate(in asked, began int64, lock *redlock.Lock) error {
	ctx, cancel := bounded() // not the test's: an operation that has begun is not cut short
	defer cancel()
	number := int64(0)
	if lock != nil {
		number = lock.Fence()
	}
	found, err := p.read(ctx, number)
	if err == nil {
		raise(&p.latest, number)
	}
	switch {
	case errors.Is(err, fence.ErrStale):
		p.refused()
		return nil
	case err != nil:
		return p.excused(err)
	case !in.write:
		p.note(p.id, in, said{found: found}, began)
		return nil
	}
	p.standStill(lock, number)
	if lock != nil && p.guard == nil && p.lazy == 0 && lock.Err() != nil {
		return nil // it heeds that the lock is lost, as who has no guard must
	}
	value := in.value
	if p.adds {
		value = found + 1
	}
	// It will have happened by the time at which that is known. A write that is still on its way when the lock is given back is
	// that of a holder who comes too late, against whom there is the guard.
	if p.lossy && p.random.IntN(4) == 0 && p.lost.Add(1) <= mostLost {
		p.server.Proxy().DropNextReply("SET", "EVALSHA")
	}
	err = p.write(ctx, number, value)
	if errors.Is(err, fence.ErrStale) {
		p.refused()
		return nil
	}
	p.note(p.id, in, said{found: found, open: err != nil}, began)
	return p.excused(err)
}

// standStill stands still, now and then, until the lock is over and somebody else has come, unless nobody comes.
func (p *player) standStill(lock *redlock.Lock, number int64) {
	if lock == nil || p.lazy == 0 || p.random.IntN(p.lazy) > 0 {
		return
	}
	p.slept.Add(1)
	time.Sleep(lock.Remaining() + 100*time.Millisecond)
	if p.guard != nil { // else fences are no numbers
		until(5*time.Second, func() bool { return p.latest.Load() > number })
	}
	upTo(p.random, 200*time.Millisecond)
}

// excused is nil for an error that is the work of a reply which was lost, and the error for any other.
func (p *player) excused(err error) error {
	if _, answered := errors.AsType[redis.Error](err); answered || errors.Is(err, fence.ErrInvalid) || errors.Is(err, fence.ErrNoFence) {
		return err // the server's word, or the guard's, and not the silence of either
	}
	return nil
}

// raise makes a number at least so high.
func raise(highest *atomic.Int64, to int64) {
	for seen := highest.Load(); seen < to && !highest.CompareAndSwap(seen, to); {
		seen = highest.Load()
	}
}
