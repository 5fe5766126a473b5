package node

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
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
	hands   []*atomic.Int32 // how often each was told what became of it
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
	h.ask(dice, a)
	h.pause(dice)
	h.hold(dice, a)
	if dice.IntN(8) == 0 {
		h.Abandon(a)
		heir := h.attempt(a.Keys, token+" heir")
		heir.From, heir.End = token, []Ending{Delete, Restore}[dice.IntN(2)]
		now := h.clock.Now()
		h.Ask(heir, All, now, now+nodeTimeout)
		h.pause(dice)
		a = heir
	} else if dice.IntN(4) == 0 {
		a.End, a.Until = Leave, h.clock.Now()+30*ms
	}
	h.giveUp(dice, a)
	h.repair(dice, a)
	h.pause(dice)
}

// ask asks all nodes at once, or one ahead of the others.
func (h *hammer) ask(dice *rand.Rand, a *Attempt) {
	rest, now := All, h.clock.Now()
	if dice.IntN(3) == 0 {
		first := uint64(1) << dice.IntN(hammerNodes)
		h.Ask(a, first, now, now+nodeTimeout)
		h.pause(dice)
		rest, now = All&^first, h.clock.Now()
	}
	h.Ask(a, rest, now, now+nodeTimeout)
}

// hold extends and repairs what may be held, once most of its SETs are back.
func (h *hammer) hold(dice *rand.Rand, a *Attempt) {
	for range dice.IntN(3) {
		time.Sleep(time.Duration(dice.Int64N(int64(nodeTimeout))))
		if dice.IntN(2) == 0 {
			now := h.clock.Now()
			h.Extend(a, 0, h.ear(), now, now+nodeTimeout)
		} else {
			h.repair(dice, a)
		}
	}
}

// repair repairs a node, or asks it again.
func (h *hammer) repair(dice *rand.Rand, a *Attempt) {
	e := &ear{}
	h.mu.Lock()
	h.repairs = append(h.repairs, e)
	h.mu.Unlock()
	for node := range hammerNodes {
		if dice.IntN(2) == 0 {
			h.Again(a, node, e, h.clock.Now()+nodeTimeout)
		} else {
			h.Repair(a, node, 0, e, h.clock.Now()+nodeTimeout)
		}
	}
}

func (h *hammer) giveUp(dice *rand.Rand, a *Attempt) {
	var wg sync.WaitGroup
	for range 1 + dice.IntN(3)/2 {
		withdraw, to, hands := dice.IntN(2) == 0, h.ear(), h.handsOf(dice, a)
		wg.Go(func() {
			now := h.clock.Now()
			h.Release(a, to, withdraw, now, now+2*nodeTimeout, hands)
		})
	}
	wg.Wait()
}

// handsOf are hands for some of the nodes, where the keys are to be deleted.
func (h *hammer) handsOf(dice *rand.Rand, a *Attempt) (hands []*Hand) {
	if a.End != Delete {
		return nil
	}
	for _, node := range dice.Perm(hammerNodes)[:dice.IntN(3)] {
		told := new(atomic.Int32)
		hands = append(hands, &Hand{Node: node, Channels: "~w:", Lists: []any{"~q:k"}, Heard: func([]any) { told.Add(1) }})
		h.mu.Lock()
		h.hands = append(h.hands, told)
		h.mu.Unlock()
	}
	return hands
}

// requireHeard requires that everybody was heard of once, and repairs no more than that, and returns how many were.
func (h *hammer) requireHeard(t *testing.T) (repairs int32) {
	t.Helper()
	for _, e := range h.ears {
		e.requireOnce(t)
	}
	for _, told := range h.hands {
		require.EqualValues(t, 1, told.Load(), "a hand")
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
