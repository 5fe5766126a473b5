package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// The 50 rounds of each kind are played by five clusters side by side.
const (
	ghostClusters = 5
	ghostRounds   = 10
)

// ghosts is one cluster's share of the rounds: a Locker on clients with default options, that tell when they are answered.
type ghosts struct {
	*trial
	l       *redlock.Locker
	answers *answers
	random  *rand.Rand
}

func haunt(t *testing.T, f func(g *ghosts, round int)) {
	t.Helper()
	for part := range ghostClusters {
		t.Run(fmt.Sprintf("rounds %d to %d", part*ghostRounds+1, (part+1)*ghostRounds), func(t *testing.T) {
			t.Parallel()
			g := &ghosts{trial: begin(t, testcluster.Stop), random: rand.New(rand.NewPCG(uint64(part), 4))}
			clients := g.onDefaults()
			g.answers = listen(clients)
			g.l = g.over(clients)
			g.warm(g.l)
			for round := range ghostRounds {
				f(g, round)
			}
		})
	}
}

// exorcised lets stopped nodes go on and holds that nothing is there a second after each of them has answered again.
func (g *ghosts) exorcised(stopped []int) {
	g.t.Helper()
	w := watchTimers()
	since := time.Now()
	g.each(stopped, cont)
	probe, err := g.l.Lock(endsIn(g.t, 10*time.Second), "probe") // a node that owes nothing is not asked by itself
	require.NoError(g.t, err)
	require.NoError(g.t, unlockAgain(g.t, probe))
	answered := g.answers.after(g.trial, since, stopped)
	time.Sleep(time.Until(answered.Add(time.Second)))
	time.Sleep(slack + 2*w.close())
	require.Empty(g.t, g.keys())
}

// F01, F02, F03: the nodes' kernels take the SET, and the nodes run it when they wake, long after the client gave up.
func TestNoKeyOfAFailedLockIsLeftOnThreeNodesThatWereStopped(t *testing.T) {
	t.Parallel()
	haunt(t, func(g *ghosts, round int) {
		stopped := g.random.Perm(5)[:3]
		g.each(stopped, stop)
		_, err := g.l.TryLock(g.t.Context(), "k")
		require.ErrorIs(g.t, err, redlock.ErrNoQuorum)
		require.NotErrorIs(g.t, err, redlock.ErrTaken)
		g.exorcised(stopped)
		if round == ghostRounds-1 { // nobody else is kept out
			lock, err := g.open().TryLock(g.t.Context(), "k")
			require.NoError(g.t, err)
			require.NoError(g.t, lock.Unlock(g.t.Context()))
			g.gone("k")
		}
	})
}

// F03: the node stops before the lock is taken, between, or in the middle of either.
func TestNoKeyOfALockIsLeftOnANodeThatWasStoppedDuringLockAndUnlock(t *testing.T) {
	t.Parallel()
	haunt(t, func(g *ghosts, round int) {
		stopped := []int{g.random.IntN(5)}
		moment := time.Duration(g.random.Int64N(int64(time.Millisecond)))
		// at stops the node if its turn is this round, and at a moment of what follows rather than before it.
		at := func(turn int, amid bool) *errgroup.Group {
			var stopping errgroup.Group
			if round%4 == turn {
				stopping.Go(func() error {
					time.Sleep(moment)
					return g.Nodes[stopped[0]].Stop(g.t.Context())
				})
			}
			if !amid {
				require.NoError(g.t, stopping.Wait())
			}
			return &stopping
		}
		at(0, false)
		stopping := at(1, true)
		lock, err := g.l.Lock(endsIn(g.t, 10*time.Second), "k")
		require.NoError(g.t, err)
		require.NoError(g.t, stopping.Wait())
		at(2, false)
		stopping = at(3, true)
		require.NoError(g.t, unlockAgain(g.t, lock))
		require.NoError(g.t, stopping.Wait())
		g.exorcised(stopped)
	})
}

// F07: the SET to one node is still under way when the lock is given back.
func TestUnlockDoesNotOvertakeAStragglerOfItsOwnLock(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	tr.warm(l)
	for i := range 10 {
		far := tr.Nodes[i%5].Proxy()
		far.Delay(300*time.Millisecond, 0)
		lock, err := l.Lock(endsIn(t, time.Minute), "k") // on a slow machine four nodes may be too late once
		require.NoError(t, err)
		require.NoError(t, unlockAgain(t, lock))
		far.Delay(0, 0) // bytes under way keep their delay
		time.Sleep(500 * time.Millisecond)
		tr.gone("k")
	}
}

// F01: the client gives up on the replies, which come later.
func TestNoKeyIsLeftByRepliesThatComeTooLate(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open(redlock.WithNodeTimeout(200 * time.Millisecond))
	tr.warm(l)
	for _, n := range tr.Nodes[:3] {
		n.Proxy().Delay(0, 300*time.Millisecond)
	}
	_, err := l.TryLock(t.Context(), "k")
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	for _, n := range tr.Nodes[:3] {
		n.Proxy().Delay(0, 0)
	}
	require.True(t, until(1500*time.Millisecond, func() bool { return len(tr.keys()) == 0 }), "%v", tr.keys())
}

// F02: two nodes grant, one grants and its reply is lost, two are taken; all three are cleaned.
func TestAllNodesThatMayHaveGrantedAreCleaned(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	tr.warm(l)
	tr.take("k", time.Minute, 3, 4)
	tr.Nodes[2].Proxy().DropNextReply("SET")
	_, err := l.TryLock(t.Context(), "k")
	require.ErrorIs(t, err, redlock.ErrNoQuorum, "two say no and one says nothing: neither taken nor free")
	require.Zero(t, tr.Nodes[2].Proxy().Armed())
	tr.gone("k")
	require.Equal(t, []string{"", "", "", foreignToken, foreignToken}, tr.values("k"))
}
