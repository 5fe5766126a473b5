package node

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// owing counts how often the owner of the Group was told of node 0, and what it saw then.
type owing struct {
	r    *rig
	told atomic.Int32
	seen atomic.Int32
}

func (r *rig) owing() *owing {
	o := &owing{r: r}
	r.Owing = func(node int) {
		if node == 0 {
			o.told.Add(1)
			o.seen.Store(int32(r.Debts()[0]))
		}
	}
	return o
}

// requireTold requires that the owner was told so often, and saw the number as it is.
func (o *owing) requireTold(times, debts int) {
	o.r.t.Helper()
	synctest.Wait()
	require.EqualValues(o.r.t, times, o.told.Load())
	require.EqualValues(o.r.t, debts, o.seen.Load())
	o.r.requireDebts(debts)
}

func TestTheOwnerIsToldWhenADebtIsMadeAndWhenItIsPaid(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		o := r.owing()
		b := r.holding("k", "1")
		o.requireTold(0, 0)
		b.release()
		r.expect(0, "release k 1").end(errReset, silent)
		o.requireTold(1, 1)
		r.expect(0, "release k 1").end(errReset, silent)
		o.requireTold(1, 1) // nothing changed
		r.expect(0, "release k 1").end(nil, deleted)
		o.requireTold(2, 0)
		r.quietFor(0, 2*ttl)
		o.requireTold(2, 0)
	})
}

func TestTheOwnerIsToldOfADebtToANodeThatIsNotAsked(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		o := r.owing()
		b := r.holding("k", "1")
		r.makeSuspect(0)
		b.release()
		o.requireTold(1, 1)
		r.expect(0, "release k 1").end(nil, deleted)
		o.requireTold(2, 0)
	}, healthy, healthy)
}

func TestTheOwnerIsToldAtOnceOfAReleaseThatWaitedTooLong(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		o := r.owing()
		b := r.holding("k", "1")
		at := r.makeSuspect(0)
		r.expectAt(0, at, "ping").end(errReset, silent)
		b.giveUp(false, 5*ms) // it waits behind the next probe, which is 20 ms away
		next := r.ask("x", "1")
		probe := r.expectAt(0, at+20*ms, "set x 1")
		o.requireTold(1, 1) // not when the probe is back
		probe.end(nil, granted)
		r.expectAt(0, at+20*ms, "release k 1").end(nil, deleted)
		o.requireTold(2, 0)
		next.vote(0)
	})
}

func TestTheOwnerIsToldOfAReleaseThatWaitedTooLongThoughNothingIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		o := r.owing()
		b := r.holding("k", "1")
		at := r.makeSuspect(0)
		r.expectAt(0, at, "ping").end(errReset, silent)
		b.giveUp(false, 5*ms)
		r.wait(10 * ms)
		r.wake(0) // as one that submits does
		o.requireTold(1, 1)
		r.expectAt(0, at+20*ms, "release k 1").end(nil, deleted)
	})
}

func TestADebtOfSeveralKeysIsToldOfAsOne(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		o := r.owing()
		r.ghost("1", "a", "b", "c")
		o.requireTold(1, 1)
	})
}
