package node

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

const (
	nodeTimeout = 200 * time.Millisecond
	ttl         = 10 * time.Second
	timeLimit   = time.Minute // on real time, of what ends by itself
	patience    = time.Minute // of operations whose deadline is not what a test is about
)

// rig is a Group over held nodes, in a bubble.
type rig struct {
	*Group
	t     *testing.T
	clock clock.Clock
	nodes []*held
}

// bubble runs f in a bubble over n held nodes and, behind them, the others. The Group is dead and nothing is held when the
// bubble ends, which fails if a goroutine is left then.
func bubble(t *testing.T, n int, f func(*testing.T, *rig), others ...Transport) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, end := newRig(t, n, others...)
		defer end()
		f(t, r)
	})
}

func newRig(t *testing.T, n int, others ...Transport) (r *rig, end func()) {
	r = &rig{t: t, clock: clock.Monotonic()}
	over := make(chan struct{})
	var all []Transport
	for range n {
		h := &held{make(chan *batch), over}
		r.nodes = append(r.nodes, h)
		all = append(all, h)
	}
	r.Group = NewGroup(append(all, others...), r.clock, nodeTimeout)
	return r, func() {
		close(over)
		for _, n := range r.lanes {
			n.bury(r.clock.Now())
		}
	}
}

// next is the batch that leaves next, and when it left.
func (r *rig) next(node int) (*batch, time.Duration) {
	b := <-r.nodes[node].batches
	return b, r.clock.Now()
}

// expect is the next batch, which must consist of these commands.
func (r *rig) expect(node int, want ...string) *batch {
	r.t.Helper()
	b, _ := r.next(node)
	require.Equal(r.t, want, b.words())
	return b
}

// expectAt is expect, and the batch must leave at that time.
func (r *rig) expectAt(node int, at time.Duration, want ...string) *batch {
	r.t.Helper()
	b, left := r.next(node)
	require.Equal(r.t, want, b.words())
	require.Equal(r.t, at, left)
	return b
}

// wait lets d pass.
func (r *rig) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// quiet requires that nothing is offered to the node now.
func (r *rig) quiet(node int) {
	r.t.Helper()
	synctest.Wait()
	select {
	case b := <-r.nodes[node].batches:
		require.Fail(r.t, "a batch left", strings.Join(b.words(), ", "))
	default:
	}
}

// quietFor requires that nothing is offered to the node for so long.
func (r *rig) quietFor(node int, d time.Duration) {
	r.t.Helper()
	select {
	case b := <-r.nodes[node].batches:
		require.Fail(r.t, "a batch left", strings.Join(b.words(), ", "))
	case <-time.After(d):
	}
	r.quiet(node)
}

// bid is an attempt and what was heard of it.
type bid struct {
	Attempt
	r  *rig
	mu sync.Mutex // protects what follows
	// By node, in the order of arrival.
	votes   map[int][]vote
	answers map[int][]answer
}

type vote struct {
	quorum.Vote
	at    time.Duration
	cause error
}

type answer struct {
	quorum.Answer
	mayHold bool
	cause   error
}

func (b *bid) Voted(node int, v quorum.Vote, at time.Duration, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.votes == nil {
		b.votes = map[int][]vote{}
	}
	b.votes[node] = append(b.votes[node], vote{v, at, cause})
}

func (b *bid) Released(node int, a quorum.Answer, mayHold bool, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answers == nil {
		b.answers = map[int][]answer{}
	}
	b.answers[node] = append(b.answers[node], answer{a, mayHold, cause})
}

func (r *rig) bid(key, token string, ttl time.Duration) *bid {
	b := &bid{r: r}
	b.Attempt = Attempt{Keys: []any{key}, Token: token, TTL: ttl, TTLMillis: ttl.Milliseconds(), Voter: b}
	return b
}

// ask submits an attempt with the usual TTL and enough patience.
func (r *rig) ask(key, token string) *bid {
	b := r.bid(key, token, ttl)
	r.askFor(b, patience)
	return b
}

func (r *rig) askFor(b *bid, patience time.Duration) {
	now := r.clock.Now()
	r.Ask(&b.Attempt, All, now, now+patience)
}

// release gives the attempt up with enough patience and without withdrawing it.
func (b *bid) release() { b.giveUp(false, patience) }

func (b *bid) giveUp(withdraw bool, patience time.Duration) {
	now := b.r.clock.Now()
	b.r.Release(&b.Attempt, b, withdraw, now, now+patience, nil)
}

// vote is the one vote that was heard from the node.
func (b *bid) vote(node int) vote {
	b.r.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Len(b.r.t, b.votes[node], 1)
	return b.votes[node][0]
}

// answer is the last answer that was heard from the node, and there must have been so many.
func (b *bid) answer(node, count int) answer {
	b.r.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Len(b.r.t, b.answers[node], count)
	return b.answers[node][count-1]
}

// requireVote requires that the node's vote, with this cause, was heard once.
func (b *bid) requireVote(node int, want quorum.Vote, cause error) {
	b.r.t.Helper()
	got := b.vote(node)
	require.Equal(b.r.t, want, got.Vote)
	if cause == nil {
		require.NoError(b.r.t, got.cause)
	} else {
		require.ErrorIs(b.r.t, got.cause, cause)
	}
}

// requireAnswer requires that the count-th answer was heard, and what it was.
func (b *bid) requireAnswer(node, count int, want quorum.Answer, mayHold bool) {
	b.r.t.Helper()
	got := b.answer(node, count)
	require.Equal(b.r.t, want, got.Answer)
	require.Equal(b.r.t, mayHold, got.mayHold)
}
