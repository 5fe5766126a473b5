package quorum_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

const crewSize = 16

// fault is something that happens to the canary.
type fault struct {
	what string
	make func()
}

func (tr *trial) canaryFaults(at int) []fault {
	ghost := func(ttl time.Duration) func() {
		return func() {
			tr.take("k", ttl, at)
			time.Sleep(time.Second)
			tr.must(at, "del", tr.prefix+"k")
		}
	}
	faults := []fault{
		{"nothing", func() { time.Sleep(500 * time.Millisecond) }},
		{"it is killed and comes back empty", func() {
			tr.each([]int{at}, kill)
			time.Sleep(time.Second)
			tr.each([]int{at}, startEmpty)
			time.Sleep(500 * time.Millisecond)
		}},
		{"it hangs and goes on, twice", func() {
			for range 2 {
				tr.each([]int{at}, stop)
				time.Sleep(600 * time.Millisecond)
				tr.each([]int{at}, cont)
				time.Sleep(400 * time.Millisecond)
			}
		}},
		{"a ghost with an hour to live is there", ghost(time.Hour)},
		{"a ghost without an end is there", ghost(0)},
		{"the queue is lost again and again", func() {
			for range 20 {
				tr.must(at, "del", tr.prefix+"~q:k")
				time.Sleep(50 * time.Millisecond)
			}
		}},
	}
	if tr.Nodes[at].Can(testcluster.Config) {
		faults = append(faults, fault{"every subscription is cut every 100 ms", func() {
			for range 15 {
				tr.deafen()
				time.Sleep(100 * time.Millisecond)
			}
		}})
	}
	return faults
}

// deafen cuts every subscription.
func (tr *trial) deafen() {
	tr.t.Helper()
	for i := range tr.Nodes {
		tr.must(i, "client", "kill", "type", "pubsub")
	}
}

// F65, I1: whatever becomes of the node where waiters wait for one another, and of what they are told there, the poll is
// the bound of every wait, and the count under the lock is exact.
func TestNoFaultOfTheCanaryHoldsUpTheQueueForLongerThanThePoll(t *testing.T) {
	tr := begin(t, testcluster.Stop, testcluster.KillEmpty)
	at := tr.canary("k", tr.directs())
	crew := tr.crew(times(crewSize, "contender")...)
	for _, fault := range tr.canaryFaults(at) {
		crew.during(fault.what, fault.make)
	}
	crew.end()
}

// Half of the waiters are killed at random moments: in the queue, named, with the lock, or in the middle of asking for it.
func TestWaitersThatAreKilledCostTheirTTLAtMost(t *testing.T) {
	tr := begin(t)
	crew := tr.crew(times(crewSize, "contender")...)
	random := rand.New(rand.NewPCG(5, 5))
	half := crew.members[:crewSize/2]
	crew.duringDeaths("half are killed", func() int {
		for _, m := range half {
			time.Sleep(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
			require.NoError(t, m.cmd.Process.Kill())
		}
		return len(half)
	})
	crew.during("the other half goes on", func() { time.Sleep(500 * time.Millisecond) })
	crew.end(half...)
	// Of a process that died its keys are left, for their TTL, and its place in the queue, for that and a second.
	require.True(t, until(2*crewTTL+time.Second+generous, func() bool { return len(tr.keys()) == 0 }), "%v", tr.keys())
}

// The canary forgets a lock that the other nodes have: it says that the key is free for as long as it is not. Nobody has the lock by
// that, and nobody asks more often than otherwise.
func TestACanaryThatForgetsALockThatIsHeldMakesNobodySpin(t *testing.T) {
	needQueues(t)
	tr := begin(t, testcluster.KillEmpty)
	const waiters = 4
	at := tr.canary("k", tr.Addrs())
	held := tr.lockAll(tr.open(), "k", redlock.WithTTL(time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan wanted, waiters)
	for i := range waiters {
		l := tr.open(redlock.WithTTL(time.Minute))
		go func() {
			w := <-want(ctx, l, "k")
			returned <- w
		}()
		tr.awaitQueued("k", i+1)
	}
	tr.each([]int{at}, kill)
	tr.each([]int{at}, startEmpty)
	tr.awaitQueued("k", waiters) // they queue there again, though it says that the key is free
	before := tr.sent("")
	time.Sleep(time.Second)
	require.Empty(t, returned)
	sent := tr.sent("") - before
	t.Logf("%d commands a second of %d waiters", sent, waiters)
	const poll = 5 + 3*4 + 5 + 2 // to ask, to ask again three times, to give back, and to queue, at twenty polls a second at most
	require.LessOrEqual(t, sent, waiters*20*poll)
	mustBeInTime(t, 200*time.Millisecond, func() { // twice the bound of the poll
		require.NoError(t, unlockAgain(t, held))
		w := <-returned
		require.NoError(t, w.err)
		cancel()
		require.NoError(t, unlockAgain(t, w.lock))
	})
	for range waiters - 1 {
		if w := <-returned; w.err == nil { // cancelled in the moment of success
			require.NoError(t, unlockAgain(t, w.lock))
		}
	}
}
