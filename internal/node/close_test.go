package node

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestCloseOfAnIdleGroupReturnsAtOnceWhateverTheContext(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(t *testing.T, r *rig) {
		r.holding("k", "1").release()
		r.expect(0, "release k 1").end(nil, deleted)
		r.expect(1, "set k 1").end(nil, refused)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, r.Close(ctx))
		require.NoError(t, r.Close(t.Context()))
	})
}

func TestCloseWaitsUntilEveryDebtIsPaid(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		doubtful := r.doubtful("a", "1", 300*ms)
		held := r.holding("b", "1")
		doubtful.release()
		r.expect(0, "release a 1").end(nil, absent)
		held.release()
		r.expect(0, "release b 1").end(errReset, silent)
		c := r.startClose(t.Context())
		r.expectAt(0, 10*ms, "release b 1").end(nil, deleted)
		for _, at := range []time.Duration{50, 200} {
			c.requireOpen()
			r.expectAt(0, at*ms, "release a 1").end(nil, absent)
		}
		c.requireOpen()
		r.expectAt(0, 300*ms, "release a 1").end(nil, deleted)
		c.requireReturn(300*ms, nil)
	})
}

func TestCloseWaitsForWhatIsQueuedAndUnderWay(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		set := r.expect(0, "set k 1")
		b.release()
		c := r.startClose(t.Context())
		set.end(nil, granted)
		release := r.expect(0, "release k 1")
		c.requireOpen()
		r.wait(5 * ms)
		release.end(nil, deleted)
		c.requireReturn(5*ms, nil)
		b.requireAnswer(0, 1, quorum.Deleted, false)
	})
}

func TestCloseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.holding("k", "1").release()
		release := r.expect(0, "release k 1")
		cause := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		c := r.startClose(ctx)
		r.wait(3 * ms)
		c.requireOpen()
		cancel(cause)
		c.requireReturn(3*ms, cause)
		release.end(errReset, silent)
		r.requireDebts(0)
		r.quietFor(0, time.Hour)
	})
}

func TestAProbeHoldsUpNoClose(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		at := r.makeSuspect(0)
		r.startClose(t.Context()).requireReturn(at-minPause, nil)
	})
	bubble(t, 1, func(t *testing.T, r *rig) {
		at := r.makeSuspect(0)
		probe := r.expectAt(0, at, "ping")
		r.startClose(t.Context()).requireReturn(at, nil)
		probe.end(errTimeout, silent)
		r.quietFor(0, time.Hour)
	})
	bubble(t, 1, func(t *testing.T, r *rig) {
		at := r.makeSuspect(0)
		b := r.bid("k", "1", ttl)
		r.askFor(b, 5*ms)
		c := r.startClose(t.Context())
		probe := r.expectAt(0, at, "ping") // and what waited is too late
		c.requireReturn(at, nil)
		probe.end(nil, pong)
		b.requireVote(0, quorum.Unsent, ErrLate)
	})
	bubble(t, 1, func(t *testing.T, r *rig) {
		at := r.makeSuspect(0)
		probe := r.expectAt(0, at, "ping")
		b := r.ask("k", "1")
		c := r.startClose(t.Context())
		c.requireOpen()
		probe.end(nil, pong)
		r.expectAt(0, at, "set k 1").end(nil, refused)
		b.requireVote(0, quorum.Refused, nil)
		c.requireReturn(at, nil)
	})
}

func TestWhenOneOfTwoClosesStopsWaitingBothReturn(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.holding("k", "1").release()
		r.expect(0, "release k 1").end(nil, readOnly) // the next try is far away
		r.requireDebts(1)
		ctx, cancel := context.WithCancel(t.Context())
		patient, hasty := r.startClose(t.Context()), r.startClose(ctx)
		cancel()
		hasty.requireReturn(0, context.Canceled)
		patient.requireReturn(0, nil) // nothing is owed any more
		r.quietFor(0, time.Hour)
	})
}

func TestADebtThatIsAnsweredAfterCloseBeganDoesNotMakeItFail(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.doubtful("a", "1", 10*time.Second).release()
		first := r.expect(0, "release a 1")
		c := r.startClose(t.Context())
		r.wait(5 * ms)
		first.end(nil, absent) // so the last repeat is due 5 ms after Close may wait no longer
		for _, at := range []time.Duration{55, 205, 1005, 3505, 6005, 8505} {
			r.expectAt(0, at*ms, "release a 1").end(nil, absent)
		}
		c.requireReturn(10*time.Second, nil)
	})
}
