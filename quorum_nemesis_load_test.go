package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/redlock"
)

// The locks of the load. The drift is that of two clocks which are slewed apart; the timeout leaves room for it in the TTL.
const (
	loadTTL      = 500 * time.Millisecond
	loadTimeout  = 150 * time.Millisecond
	loadDrift    = 0.16
	loadKeys     = 512
	loadHot      = 4                      // of these, which are waited for
	loadPatience = 100 * time.Millisecond // for so long
	probeTTL     = time.Minute
)

var loadTerms = []redlock.Option{redlock.WithTTL(loadTTL), redlock.WithNodeTimeout(loadTimeout), redlock.WithDrift(loadDrift)}

// traffic is callers of several Lockers that take locks on the same keys, every other of which is fenced, and tell the judge.
type traffic struct {
	tr      *trial
	judge   *judge
	pace    pace
	lockers []*redlock.Locker
	callers int // of each
	keys    int // that they want
	seed    uint64
	begun   time.Time // of what is beside them
	before  int64     // acquisitions, by then
	names   []string  // of the keys, by their number
	theirs  []string  // keys that somebody else has on a majority
}

// traffic has so many callers on each Locker.
func (tr *trial) traffic(each int, lockers ...*redlock.Locker) *traffic {
	tr.t.Helper()
	tf := &traffic{tr: tr, judge: judgeOf(tr.t, loadKeys), lockers: lockers, callers: each, keys: loadKeys, seed: testSeed(tr.t)}
	for i := range loadKeys {
		tf.names = append(tf.names, fmt.Sprint("k", i))
	}
	tf.pace.total = &tf.judge.acquisitions
	return tf
}

// openAround is open past the proxies, as long as these can be dialled: what they carry costs, and most of the harms need none.
func (tr *trial) openAround(opts ...redlock.Option) *redlock.Locker {
	tr.t.Helper()
	return tr.open(append([]redlock.Option{watch{script: writeBack, around: around(tr.Addrs(), tr.directs())}.option()}, opts...)...)
}

// run lets the callers call until done says so, and fails the test if it does not within limit. What is beside them ends before they
// do.
func (tf *traffic) run(limit time.Duration, done func() bool, beside ...func(ctx context.Context) error) {
	t := tf.tr.t
	t.Helper()
	last, end := context.WithCancel(t.Context())
	defer end()
	first, endFirst := context.WithCancel(last)
	defer endFirst()
	calls, calling := errgroup.WithContext(last)
	disturbances, disturbing := errgroup.WithContext(first)
	for i, l := range tf.lockers {
		for j := range tf.callers {
			random := rand.New(rand.NewPCG(tf.seed, uint64(i*tf.callers+j)))
			c := &caller{traffic: tf, l: l, name: fmt.Sprintf("%d.%d", i, j), random: random}
			calls.Go(func() error { return c.run(calling) })
		}
	}
	flowing := int64(10 * len(tf.lockers) * tf.callers) // the first of every caller are slow, whatever is beside them
	over := until(limit, func() bool { return tf.judge.acquisitions.Load() > flowing || calling.Err() != nil })
	tf.begun, tf.before = time.Now(), tf.judge.acquisitions.Load()
	for _, f := range beside {
		disturbances.Go(func() error { return f(disturbing) })
	}
	var watching sync.WaitGroup
	watching.Go(func() { tf.pace.watch(first) })
	over = over && until(limit, func() bool { return done() || calling.Err() != nil || disturbing.Err() != nil })
	endFirst()
	disturbed := disturbances.Wait()
	watching.Wait()
	end()
	require.NoError(t, calls.Wait())
	require.NoError(t, disturbed)
	require.True(t, over, "not done within %v: %v", limit, tf.judge)
}

// since is how many locks were had since what is beside the load began.
func (tf *traffic) since() int64 { return tf.judge.acquisitions.Load() - tf.before }

// verdict holds what must hold of any load; that it was never slow, of the spans in which no bare timer was later than the size says.
func (tf *traffic) verdict(size nemesisSize) {
	t := tf.tr.t
	t.Helper()
	require.Empty(t, tf.judge.found(), "%v", tf.judge)
	require.Positive(t, tf.judge.stale.Load(), "no stale write was tried")
	if least, spans := tf.pace.slowest(5, size.late); spans > 0 || size.late == never {
		require.GreaterOrEqual(t, least, size.least, "%v", &tf.pace)
	}
	// A debt that found nothing to delete, since its SET was still under way, looks again after a quarter of the TTL.
	until(probeTTL/4+5*time.Second, func() bool { return len(tf.tr.keys()) == 0 })
	left := tf.tr.keys()
	require.Empty(t, left, "left on the masters")
	t.Logf("%d keys of ours left", len(left))
}

func (tf *traffic) String() string {
	return fmt.Sprintf("%d of %v; %v", tf.since(), tf.judge, &tf.pace)
}

// caller takes one lock after the other.
type caller struct {
	*traffic
	l      *redlock.Locker
	name   string
	random *rand.Rand
	taken  int
	past   []shownFence // of locks that it gave back
}

// shownFence is a fence that was presented to the guard of a key.
type shownFence struct {
	key    int
	who    string
	number int64
}

func (c *caller) run(ctx context.Context) error {
	for ctx.Err() == nil {
		var err error
		switch c.random.IntN(256) {
		case 0:
			err = c.probe(ctx)
		case 1:
			err = c.tryTheirs(ctx)
		default:
			err = c.once(ctx)
		}
		if err != nil {
			return fmt.Errorf("caller %s: %w", c.name, err)
		}
	}
	return nil
}

// failed tells what is wrong with a failure to have a lock, if anything is, and stands back where the nodes are in trouble.
func (c *caller) failed(err error) error {
	switch {
	case errors.Is(err, redlock.ErrInvalid), errors.Is(err, redlock.ErrClosed):
		return err
	case !errors.Is(err, redlock.ErrTaken):
		upTo(c.random, 5*time.Millisecond)
	}
	return nil
}

// tryTheirs tries to lock what somebody else has, which must not be had.
func (c *caller) tryTheirs(ctx context.Context) error {
	if len(c.theirs) == 0 {
		return nil
	}
	name := c.theirs[c.random.IntN(len(c.theirs))]
	lock, err := c.l.TryLock(ctx, name)
	if err != nil {
		return c.failed(err)
	}
	c.judge.others.Add(1)
	c.judge.violated("had what is somebody else's: " + name)
	return lock.Unlock(context.WithoutCancel(ctx))
}

// probe takes a lock that nobody else wants and gives it back at once. It would live for so long that what is left of one is seen.
func (c *caller) probe(ctx context.Context) error {
	c.taken++
	lock, err := c.l.TryLock(ctx, fmt.Sprintf("probe %s.%d", c.name, c.taken), redlock.WithTTL(probeTTL))
	if err != nil {
		return c.failed(err)
	}
	end := time.Now().Add(lock.Remaining())
	c.judge.acquisitions.Add(1)
	return c.giveBack(ctx, lock, end)
}

// giveBack gives a lock back that could be trusted until end, or later. Within that time nobody can have taken it from us.
func (c *caller) giveBack(ctx context.Context, lock *redlock.Lock, end time.Time) error {
	err := lock.Unlock(context.WithoutCancel(ctx))
	left := time.Until(end)
	switch {
	case errors.Is(err, redlock.ErrLost) && left > 0:
		c.judge.lost.Add(1)
		c.judge.violated(fmt.Sprintf("%v before its end: %v", left, err))
	case err != nil && !errors.Is(err, redlock.ErrLost) && !errors.Is(err, redlock.ErrNoQuorum):
		return err
	}
	return nil
}

// writeLate writes with an old fence, which must be refused if somebody came since.
func (c *caller) writeLate() {
	if len(c.past) == 0 || c.random.IntN(4) > 0 {
		return
	}
	old := c.past[c.random.IntN(len(c.past))]
	c.judge.write(old.key, old.who, old.number)
}

// present shows the fence of a lock that is held to the guard of its key.
func (c *caller) present(lock *redlock.Lock, key int) {
	f := shownFence{key, fmt.Sprint(c.name, ".", c.taken), lock.Fence()}
	p := c.judge.present(f.key, f.who, f.number)
	if lock.Remaining() > 0 {
		c.judge.judge(p)
	} else {
		c.judge.late.Add(1)
	}
	if len(c.past) == 8 {
		c.past = slices.Delete(c.past, 0, 1)
	}
	c.past = append(c.past, f)
}
