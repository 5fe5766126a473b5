package quorum_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// jeopardies notes what a Locker's hooks tell of the renewals of each key.
type jeopardies struct {
	mu       sync.Mutex // protects what follows
	last     map[string]jeopardy
	extended map[string]int
}

type jeopardy struct {
	at    time.Time
	count int
	err   error
}

func watchJeopardies() (*jeopardies, redlock.Option) {
	j := &jeopardies{last: make(map[string]jeopardy), extended: make(map[string]int)}
	return j, redlock.WithHooks(redlock.Hooks{
		Jeopardy: func(_ context.Context, e redlock.Jeopardy) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.last[e.Key] = jeopardy{time.Now(), j.last[e.Key].count + 1, e.Err}
		},
		Extended: func(_ context.Context, e redlock.Extension) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.extended[e.Key]++
		},
	})
}

func (j *jeopardies) of(key string) (last jeopardy, extended int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last[key], j.extended[key]
}

// keep runs KeepAlive in a goroutine of its own. What it returns waits for its end and returns its error.
func keep(ctx context.Context, lock *redlock.Lock) (end func() error) {
	kept := make(chan error, 1)
	go func() { kept <- lock.KeepAlive(ctx) }()
	return sync.OnceValue(func() error { return <-kept })
}

const (
	lossRounds = 200
	lossLocks  = 8 // at once
	lossTTL    = 400 * time.Millisecond
	lossSlack  = 5 * time.Millisecond
)

// I2, F27. All five nodes stop at some moment of the renewals; nobody tells the holder anything, and he hears of the end no
// later than a bare timer that was set for it. Not parallel: it leaves 5 ms.
func TestLossIsSignalledByTheEndOfValidityWithAllNodesStopped(t *testing.T) {
	tr := begin(t, testcluster.Stop)
	seen, hooks := watchJeopardies()
	l := tr.open(redlock.WithTTL(lossTTL), redlock.WithNodeTimeout(50*time.Millisecond), hooks)
	tr.warm(l)
	random := rand.New(rand.NewPCG(2, 27))
	var worst time.Duration
	counted := 0
	for stop := 0; counted < lossRounds; stop++ {
		require.Less(t, stop, lossRounds, "all locks are lost before anybody can look")
		var losses []*loss
		for i := range lossLocks {
			losses = append(losses, tr.hold(l, fmt.Sprintf("k%d-%d", stop, i)))
		}
		time.Sleep(time.Duration(random.Int64N(int64(lossTTL / 2)))) // at any moment between and in renewals
		n, late := tr.loseAll(losses, seen)
		counted, worst = counted+n, max(worst, late)
	}
	t.Logf("%d locks, the latest %v after a bare timer", counted, worst)
}

// loss is a lock under KeepAlive and when its holder heard of the end.
type loss struct {
	lock      *redlock.Lock
	key       string
	ctx       context.Context //nolint:containedctx // it is what is looked at
	kept      func() error
	told      chan time.Time // by Done
	cancelled chan time.Time // by the Context
	end       time.Time      // of the validity
	bare      chan time.Time // when a bare timer for it rang
}

// hold takes a lock under KeepAlive, whose holder waits for the end of it. It waits for the nodes to come back.
func (tr *trial) hold(l *redlock.Locker, key string) *loss {
	tr.t.Helper()
	lock, err := l.Lock(endsIn(tr.t, time.Minute), key)
	require.NoError(tr.t, err)
	ctx, cancel := lock.Context(tr.t.Context())
	tr.t.Cleanup(cancel)
	h := &loss{
		lock: lock, key: key, ctx: ctx, kept: keep(tr.t.Context(), lock),
		told: make(chan time.Time, 1), cancelled: make(chan time.Time, 1), bare: make(chan time.Time, 1),
	}
	go func() { <-lock.Done(); h.told <- time.Now() }()
	go func() { <-ctx.Done(); h.cancelled <- time.Now() }()
	return h
}

// loseAll stops all nodes until the locks are lost, and returns of how many it can be said when they should be, and by how
// much the latest was later than a bare timer.
func (tr *trial) loseAll(losses []*loss, seen *jeopardies) (counted int, worst time.Duration) {
	tr.t.Helper()
	w := watchTimers()
	tr.each(all, stop)
	stopped := time.Now()
	for _, h := range losses {
		// Once a renewal has failed since, no answer is under way that could prolong the lock.
		require.True(tr.t, until(2*lossTTL, func() bool {
			last, _ := seen.of(h.key)
			return last.at.After(stopped) || h.lock.Err() != nil
		}))
		before := time.Now() // the end is never later than from here: this goroutine may stand still before it asks
		if left := h.lock.Remaining(); left > 0 {
			h.end = before.Add(left)
			time.AfterFunc(left, func() { h.bare <- time.Now() })
		}
	}
	for _, h := range losses {
		told, cancelled := <-h.told, <-h.cancelled
		tr.mustBeLost(h, seen)
		if h.end.IsZero() {
			continue
		}
		counted++
		bare := <-h.bare
		require.False(tr.t, told.Before(h.end.Add(-time.Millisecond)), "told %v early", h.end.Sub(told))
		worst = max(worst, told.Sub(bare), cancelled.Sub(bare))
	}
	late := w.close()
	require.LessOrEqual(tr.t, worst, lossSlack+2*late, "a bare timer was only %v late", late)
	tr.each(all, cont)
	for _, h := range losses {
		require.ErrorIs(tr.t, h.lock.Unlock(tr.t.Context()), redlock.ErrLost)
	}
	return counted, worst
}

// mustBeLost holds that everything says so, and why.
func (tr *trial) mustBeLost(h *loss, seen *jeopardies) {
	tr.t.Helper()
	require.ErrorIs(tr.t, h.lock.Err(), redlock.ErrLost)
	require.ErrorIs(tr.t, context.Cause(h.ctx), redlock.ErrLost)
	require.ErrorIs(tr.t, h.kept(), redlock.ErrLost)
	require.ErrorIs(tr.t, h.lock.Extend(tr.t.Context()), redlock.ErrLost)
	require.Zero(tr.t, h.lock.Remaining())
	last, _ := seen.of(h.key)
	if last.err == nil { // it was over before a renewal had failed
		return
	}
	require.ErrorIs(tr.t, last.err, redlock.ErrNoQuorum)
	require.NotErrorIs(tr.t, last.err, context.DeadlineExceeded, "a node's timeout is nobody's deadline")
	require.NotEmpty(tr.t, quorumError(tr.t, last.err).Errs)
}
