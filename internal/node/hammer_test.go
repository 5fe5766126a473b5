package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

const (
	hammerNodes   = 5
	hammerCallers = 64
	hammerTurns   = 12
	hammerKeys    = 16
	hammerTTL     = 300 * ms
)

// ear counts what was heard from each node.
type ear struct{ heard [hammerNodes]atomic.Int32 }

func (e *ear) Voted(node int, _ quorum.Vote, _ time.Duration, _ error) { e.heard[node].Add(1) }
func (e *ear) Released(node int, _ quorum.Answer, _ bool, _ error)     { e.heard[node].Add(1) }
func (e *ear) Heard(node int, _ *Reply, _ time.Duration)               { e.heard[node].Add(1) }

func (e *ear) requireOnce(t *testing.T) {
	t.Helper()
	for i := range e.heard {
		require.EqualValues(t, 1, e.heard[i].Load(), "node %d", i)
	}
}

// hammer is many callers on nodes on bad terms with their network.
type hammer struct {
	*rig
	seed    uint64
	nodes   []*chaos
	mu      sync.Mutex // protects what follows
	ears    []*ear
	repairs []*ear
}

func newHammer(t *testing.T, seed uint64, f func(*testing.T, *hammer)) {
	t.Helper()
	h := &hammer{seed: seed}
	var transports []Transport
	for i := range hammerNodes {
		c := &chaos{late: i%2 == 0, dice: rand.New(rand.NewPCG(seed, uint64(i))), store: newStore()}
		h.nodes, transports = append(h.nodes, c), append(transports, c)
	}
	bubble(t, 0, func(t *testing.T, r *rig) {
		t.Logf("seed %d", seed)
		h.rig = r
		f(t, h)
	}, transports...)
}

func (h *hammer) ear() *ear {
	e := &ear{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ears = append(h.ears, e)
	return e
}

// run lets all callers take their turns and returns when they are done.
func (h *hammer) run() {
	var wg sync.WaitGroup
	for caller := range hammerCallers {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(h.seed, uint64(1000+caller)))
			for turn := range hammerTurns {
				h.turn(dice, fmt.Sprintf("token %d-%d", caller, turn))
			}
		})
	}
	wg.Wait()
}

// keys are one to three keys, in their order.
func (h *hammer) keys(dice *rand.Rand) (keys []any) {
	for _, k := range dice.Perm(hammerKeys)[:1+max(0, dice.IntN(5)-2)] {
		keys = append(keys, fmt.Sprintf("key%02d", k))
	}
	slices.SortFunc(keys, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return keys
}

func (h *hammer) attempt(keys []any, token string) *Attempt {
	return &Attempt{Keys: keys, Token: token, TTL: hammerTTL, TTLMillis: hammerTTL.Milliseconds(), Voter: h.ear()}
}

func (h *hammer) pause(dice *rand.Rand) {
	time.Sleep(time.Duration(dice.Int64N(int64(30*ms))) * time.Duration(dice.IntN(2)))
}

// turn is one attempt, which may be extended and repaired and handed over, given up once or more often.
func (h *hammer) turn(dice *rand.Rand, token string) {
	a := h.attempt(h.keys(dice), token)
	now := h.clock.Now()
	h.Ask(a, now, now+nodeTimeout)
	h.pause(dice)
	h.hold(dice, a)
	if dice.IntN(8) == 0 {
		h.Abandon(a)
		heir := h.attempt(a.Keys, token+" heir")
		heir.From, heir.End = token, []Ending{Delete, Restore}[dice.IntN(2)]
		now := h.clock.Now()
		h.Ask(heir, now, now+nodeTimeout)
		h.pause(dice)
		a = heir
	} else if dice.IntN(4) == 0 {
		a.End, a.Until = Leave, h.clock.Now()+30*ms
	}
	h.giveUp(dice, a)
	h.repair(a)
	h.pause(dice)
}

// hold extends and repairs what may be held, once most of its SETs are back.
func (h *hammer) hold(dice *rand.Rand, a *Attempt) {
	for range dice.IntN(3) {
		time.Sleep(time.Duration(dice.Int64N(int64(nodeTimeout))))
		if dice.IntN(2) == 0 {
			now := h.clock.Now()
			h.Extend(a, 0, h.ear(), now, now+nodeTimeout)
		} else {
			h.repair(a)
		}
	}
}

func (h *hammer) repair(a *Attempt) {
	e := &ear{}
	h.mu.Lock()
	h.repairs = append(h.repairs, e)
	h.mu.Unlock()
	for node := range hammerNodes {
		h.Repair(a, node, 0, e, h.clock.Now()+nodeTimeout)
	}
}

func (h *hammer) giveUp(dice *rand.Rand, a *Attempt) {
	var wg sync.WaitGroup
	for range 1 + dice.IntN(3)/2 {
		withdraw, to := dice.IntN(2) == 0, h.ear()
		wg.Go(func() {
			now := h.clock.Now()
			h.Release(a, to, withdraw, now, now+2*nodeTimeout)
		})
	}
	wg.Wait()
}

// requireHeard requires that everybody was heard of once, and repairs no more than that, and returns how many were.
func (h *hammer) requireHeard(t *testing.T) (repairs int32) {
	t.Helper()
	for _, e := range h.ears {
		e.requireOnce(t)
	}
	for _, e := range h.repairs {
		for i := range e.heard {
			n := e.heard[i].Load()
			require.LessOrEqual(t, n, int32(1), "node %d", i)
			repairs += n
		}
	}
	return repairs
}

func TestAfterAnyTroubleCloseLeavesNoKeyBehindAndEverybodyWasHeardOnce(t *testing.T) {
	t.Parallel()
	for range 5 {
		newHammer(t, rand.Uint64(), func(t *testing.T, h *hammer) {
			h.run()
			for _, n := range h.nodes {
				n.heal()
			}
			time.Sleep(maxPause) // no node is left alone for longer, and then one TTL is enough
			require.NoError(t, h.Close(t.Context()))
			for i, n := range h.nodes {
				require.Empty(t, n.left(), "node %d", i)
				require.Zero(t, h.Debts()[i])
			}
			require.Positive(t, h.requireHeard(t))
			synctest.Wait()
			for _, n := range h.lanes {
				require.False(t, n.running)
				require.Zero(t, n.queue.len)
			}
			require.Zero(t, h.suspects.Load(), "every node answered last")
			time.Sleep(time.Hour)
			for i, n := range h.nodes {
				require.Empty(t, n.left(), "node %d", i)
			}
		})
	}
}

func TestACloseInTheMiddleOfTroubleLosesNobody(t *testing.T) {
	t.Parallel()
	for range 3 {
		newHammer(t, rand.Uint64(), func(t *testing.T, h *hammer) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				time.Sleep(50 * ms)
				_ = h.Close(ctx) // it may find the Group at rest, or stop waiting
			}()
			h.run()
			<-done
			time.Sleep(time.Hour)
			synctest.Wait()
			h.requireHeard(t)
			for i, n := range h.lanes {
				require.False(t, n.running)
				require.Nil(t, n.alarm)
				require.Zero(t, h.Debts()[i])
			}
		})
	}
}
