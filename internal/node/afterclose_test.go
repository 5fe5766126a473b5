package node

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestASecondCloseWaitsLikewise(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		held := r.holding("k", "1")
		require.NoError(t, r.Close(t.Context()))
		held.release()
		release := r.expect(0, "release k 1")
		second := r.startClose(t.Context())
		second.requireOpen()
		r.wait(7 * ms)
		release.end(nil, deleted)
		second.requireReturn(7*ms, nil)
	})
}

func TestAfterCloseSetsAreRefusedAndReleasesAreSentOnce(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]reply{"answered": deleted, "not answered": silent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				held := r.holding("held", "1")
				require.NoError(t, r.Close(t.Context()))
				b := r.ask("k", "1")
				b.requireVote(0, quorum.Unsent, ErrClosed)
				b.release()
				b.requireAnswer(0, 1, quorum.Clear, false)
				held.release()
				r.expect(0, "release held 1").end(errReset, lost)
				want := quorum.Deleted
				if name != "answered" {
					want = quorum.NoAnswer
				}
				held.requireAnswer(0, 1, want, name != "answered")
				r.requireDebts(0)
				r.quietFor(0, time.Hour)
			})
		})
	}
}

func TestAfterCloseReleasesToASuspectNodeWaitBehindItsPauseAndAreAllHeardOf(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		a, b, c := r.holding("a", "1"), r.holding("b", "1"), r.holding("c", "1")
		require.NoError(t, r.Close(t.Context()))
		a.release()
		release := r.expect(0, "release a 1")
		b.release()
		c.giveUp(false, nodeTimeout+5*ms)
		r.wait(nodeTimeout)
		release.end(errTimeout, silent)
		a.requireAnswer(0, 1, quorum.NoAnswer, true)
		r.expectAt(0, nodeTimeout+10*ms, "release b 1").end(nil, deleted)
		b.requireAnswer(0, 1, quorum.Deleted, false)
		require.ErrorIs(t, c.answer(0, 1).cause, ErrLate)
		c.release() // the node answered: nothing stands in the way any more
		r.expectAt(0, nodeTimeout+10*ms, "release c 1").end(nil, deleted)
		r.quietFor(0, time.Hour)
	}, healthy, healthy)
}

func TestANodeThatWasSuspectAtCloseIsStillAskedToRelease(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		held := r.holding("k", "1")
		r.makeSuspect(0)
		require.NoError(t, r.Close(t.Context()))
		r.quietFor(0, time.Hour)
		now := r.clock.Now()
		held.release()
		r.expectAt(0, now, "release k 1").end(nil, deleted)
		held.requireAnswer(0, 1, quorum.Deleted, false)
	}, healthy, healthy)
}

func TestWhatWaitsBehindAProbeIsStillSentWhenCloseStopsWaiting(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		at := r.makeSuspect(0)
		b := r.ask("k", "1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, r.Close(ctx), context.Canceled)
		r.expectAt(0, at, "set k 1").end(nil, refused)
		b.requireVote(0, quorum.Refused, nil)
		r.quietFor(0, time.Hour)
	})
}

func TestNothingIsOwedToAClientThatIsClosed(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		held := r.holding("k", "1")
		r.doubtful("doubtful", "1", ttl).release()
		r.expect(0, "release doubtful 1").end(nil, absent)
		held.release()
		r.expect(0, "release k 1").end(redis.ErrClosed, notAsked)
		held.requireAnswer(0, 1, quorum.NoAnswer, true)
		r.requireDebts(0)
		r.quietFor(0, time.Hour)
		b := r.ask("k", "2")
		r.expect(0, "set k 2").end(redis.ErrClosed, notAsked)
		b.requireVote(0, quorum.Unsent, redis.ErrClosed)
		require.NoError(t, r.Close(t.Context()))
	})
}

func TestNobodyProbesASuspectNodeWhoseClientIsClosed(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		at := r.makeSuspect(0)
		r.expectAt(0, at, "ping").end(redis.ErrClosed, notAsked)
		r.quietFor(0, time.Hour)
	})
}

func TestAfterCloseNoNodeIsProbedForNobody(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		a, b := r.holding("a", "1"), r.holding("b", "1")
		require.NoError(t, r.Close(t.Context()))
		a.release()
		release := r.expect(0, "release a 1")
		b.giveUp(false, nodeTimeout+5*ms)
		r.wait(nodeTimeout)
		release.end(errTimeout, silent)
		r.quietFor(0, time.Hour)
		require.ErrorIs(t, b.answer(0, 1).cause, ErrLate)
	})
}
