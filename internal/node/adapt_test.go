package node

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// flood queues so many attempts behind one that is under way, and returns that one.
func (r *rig) flood(count int) *batch {
	r.t.Helper()
	r.ask("first", "1")
	first := r.expect(0, "set first 1")
	for i := range count {
		r.ask(fmt.Sprint("k", i), "1")
	}
	return first
}

// nextOf is the next batch, which must be so long.
func (r *rig) nextOf(length int) *batch {
	r.t.Helper()
	b, _ := r.next(0)
	require.Len(r.t, b.cmds, length)
	return b
}

// outlast lets the batch end without an answer once the timeout is over.
func (r *rig) outlast(b *batch) {
	r.wait(nodeTimeout)
	b.end(errTimeout, silent)
}

func TestAfterAPipelineThatOutlastedTheTimeoutTheNextIsHalfAsLong(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.flood(2000).end(nil, granted)
		r.outlast(r.nextOf(maxBatch))
		r.nextOf(1).end(nil, granted) // the probe, which says nothing of long ones
		r.outlast(r.nextOf(maxBatch / 2))
		r.nextOf(1).end(nil, granted)
		r.nextOf(maxBatch/4).end(nil, granted)
		r.nextOf(maxBatch/2).end(nil, granted)
		r.nextOf(maxBatch).end(nil, granted)
		r.nextOf(2000-maxBatch-1-maxBatch/2-1-maxBatch/4-maxBatch/2-maxBatch).end(nil, granted)
	})
}

func TestANodeThatHungIsBackAtFullLengthAfterFiveAnswers(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.makeSuspect(0)
		r.nextOf(1).end(errReset, silent)
		r.nextOf(1).end(nil, pong)
		r.flood(1200).end(nil, granted)
		for _, length := range []int{16, 32, 64, 128, 256, 512} {
			r.nextOf(length).end(nil, granted)
		}
		r.nextOf(1200-16-32-64-128-256-512).end(nil, granted)
	})
}

func TestAPipelineThatFailsAtOnceDoesNotMakeTheNextShorter(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]struct {
		reply
		error
	}{"reset": {silent, errReset}, "refused": {notAsked, errRefusedDial}, "in part": {granted, errReset}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, func(t *testing.T, r *rig) {
				r.flood(2*maxBatch).end(nil, granted)
				full := r.nextOf(maxBatch)
				r.wait(nodeTimeout - 1)
				full.end(lost.error, lost.reply)
				r.nextOf(maxBatch).end(nil, granted)
			})
		})
	}
}

func TestInShortPipelinesDebtsAndCallersDoNotKeepEachOtherWaiting(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.makeSuspect(0)
		probe := r.nextOf(1)
		r.owe(0, 100, ownKey)
		due(&r.lanes[0].debts, 0)
		var last *bid
		for i := range 8 {
			last = r.ask(fmt.Sprint("k", i), "1")
		}
		probe.end(nil, pong)
		short := r.nextOf(minBatch)
		require.Equal(t, "set k7 1", short.words()[minBatch-1])
		short.end(nil, deleted, deleted, deleted, deleted, deleted, deleted, deleted, deleted, granted)
		last.requireVote(0, quorum.Granted, nil)
		r.nextOf(minBatch).end(nil, deleted) // half of what is allowed by now
		r.requireDebts(100 - 8 - minBatch)
		r.nextOf(minBatch).end(nil, deleted)
	})
}
