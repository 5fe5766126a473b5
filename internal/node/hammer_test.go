package node

import (
	"context"
	"fmt"
	"math/rand/v2"
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
func (e *ear) requireOnce(t *testing.T) {
	t.Helper()
	for i := range e.heard {
		require.EqualValues(t, 1, e.heard[i].Load(), "node %d", i)
	}
}

// hammer is many callers on nodes on bad terms with their network.
type hammer struct {
	*rig
	seed  uint64
	nodes []*chaos
	mu    sync.Mutex // protects ears
	ears  []*ear
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

// turn is one attempt, given up once or more often.
func (h *hammer) turn(dice *rand.Rand, token string) {
	a := &Attempt{
		Key: fmt.Sprint("key", dice.IntN(hammerKeys)), Token: token,
		TTL: hammerTTL, TTLMillis: hammerTTL.Milliseconds(), Voter: h.ear(),
	}
	pause := func() { time.Sleep(time.Duration(dice.Int64N(int64(30*ms))) * time.Duration(dice.IntN(2))) }
	now := h.clock.Now()
	h.Ask(a, now, now+nodeTimeout)
	pause()
	var wg sync.WaitGroup
	for range 1 + dice.IntN(3)/2 {
		withdraw, to := dice.IntN(2) == 0, h.ear()
		wg.Go(func() {
			now := h.clock.Now()
			h.Release(a, to, withdraw, now, now+2*nodeTimeout)
		})
	}
	wg.Wait()
	pause()
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
			for _, e := range h.ears {
				e.requireOnce(t)
			}
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
			for _, e := range h.ears {
				e.requireOnce(t)
			}
			for i, n := range h.lanes {
				require.False(t, n.running)
				require.Nil(t, n.alarm)
				require.Zero(t, h.Debts()[i])
			}
		})
	}
}
