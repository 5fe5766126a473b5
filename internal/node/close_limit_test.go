package node

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestCloseEndsAfterOneTTL(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.holding("k", "1").release()
		r.expect(0, "release k 1").end(errReset, silent)
		r.requireDebts(1)
		c := r.startClose(t.Context())
		for {
			select {
			case b := <-r.nodes[0].batches:
				b.end(errReset, silent)
				continue
			case <-c.done:
			}
			break
		}
		c.requireReturn(ttl, ErrClosed)
		r.requireDebts(0)
		r.quietFor(0, time.Hour)
	})
}

func TestCloseWaitsOneTTLForWhatBecomesADebtMeanwhile(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		b.release()
		c := r.startClose(t.Context())
		r.wait(nodeTimeout)
		set.end(errTimeout, silent)
		release := r.expect(0, "release k 1")
		r.wait(nodeTimeout)
		release.end(errTimeout, silent)
		for range 7 { // at 0, 50, 200 ms, 1, 3.5, 6 and 8.5 s
			c.requireOpen()
			r.expect(0, "release k 1").end(nil, absent)
		}
		c.requireReturn(ttl, nil) // before the schedule's end, but the node answered, seven times
	})
}

func TestCloseWaitsForASetAndItsReleaseHoweverShortTheTTL(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.bid("k", "1", ms)
		r.askFor(b, patience)
		set := r.expect(0, "set k 1")
		b.release()
		r.startClose(t.Context()).requireReturn(2*nodeTimeout, ErrClosed)
		set.end(nil, granted)
		r.expect(0, "release k 1").end(nil, deleted)
	})
}

func TestCloseGivesUpOnABatchThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		r.startClose(t.Context()).requireReturn(ttl, ErrClosed)
		set.end(nil, granted)
		b.requireVote(0, quorum.Granted, nil)
	})
}

func TestCloseWaitsForTheLongestTTLThereIs(t *testing.T) {
	t.Parallel()
	const short, long = 500 * ms, 5 * time.Second
	three := func(r *rig) {
		for _, ttl := range []time.Duration{short, long, short} {
			r.askFor(r.bid("k", "1", ttl), patience)
		}
	}
	for name, prepare := range map[string]func(*rig, *batch) (hung *batch){
		"queued": func(r *rig, first *batch) *batch {
			three(r)
			return first
		},
		"under way": func(r *rig, first *batch) *batch {
			three(r)
			first.end(nil, granted)
			second, _ := r.next(0)
			return second
		},
		"owed": func(r *rig, first *batch) *batch {
			r.owe(0, 1, sameKey)[0].attempt.TTL = long
			return first
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				r.askFor(r.bid("first", "1", short), patience)
				hung := prepare(r, r.expect(0, "set first 1"))
				r.startClose(t.Context()).requireReturn(long, ErrClosed)
				hung.end(nil, granted)
			})
		})
	}
}

func TestCloseDoesNotWaitForWhatCameBack(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.holding("k", "1") // for much longer
		r.askFor(r.bid("k", "2", 500*ms), patience)
		hung := r.expect(0, "set k 2")
		r.startClose(t.Context()).requireReturn(500*ms, ErrClosed)
		hung.end(nil, refused)
	})
}

// slow is a Releaser that takes a moment to hear node 0.
type slow struct{}

func (slow) Released(node int, _ quorum.Answer, _ bool, _ error) {
	if node == 0 {
		time.Sleep(5 * ms)
	}
}

func TestCloseWaitsForALaneThatIsStillTelling(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		for i := range r.nodes {
			r.expect(i, "set k 1").end(nil, granted)
		}
		synctest.Wait()
		r.Release(&b.Attempt, slow{}, false, 0, patience, nil)
		c := r.startClose(t.Context())
		first, second := r.expect(0, "release k 1"), r.expect(1, "release k 1")
		r.wait(3 * nodeTimeout)
		first.end(nil, deleted)
		synctest.Wait()
		second.end(nil, deleted) // its rest makes Close look again, at a lane that owes nothing any more
		c.requireReturn(3*nodeTimeout+5*ms, nil)
	})
}
