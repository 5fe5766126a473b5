package node

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestAPipelineHasABound(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("a", "0")
		first := r.expect(0, "set a 0")
		for i := range maxBatch + 1 {
			r.ask(fmt.Sprint("k", i), "1")
		}
		first.end(nil, granted)
		full, _ := r.next(0)
		require.Len(t, full.cmds, maxBatch)
		full.end(nil, granted)
		r.expect(0, fmt.Sprintf("set k%d 1", maxBatch)).end(nil, granted)
	})
}

// Not parallel: it counts the goroutines of the process.
func TestABusyLaneHasOneGoroutineAndAnIdleOneNone(t *testing.T) {
	const submitters, nodes = 128, 5
	bubble(t, nodes, func(t *testing.T, r *rig) {
		require.Zero(t, lanesRunning())
		var wg sync.WaitGroup
		for i := range submitters {
			wg.Go(func() {
				r.ask(fmt.Sprint(i), "1").release()
			})
		}
		wg.Wait()
		require.Equal(t, nodes, lanesRunning())
		for node := range nodes {
			for left := submitters * 2; left > 0; {
				b, _ := r.next(node)
				left -= len(b.cmds)
				b.end(nil, granted) // a release gets a wrong reply: debts, which need no goroutine
			}
		}
		require.Zero(t, lanesRunning())
		require.Equal(t, submitters, r.Debts()[0])
	})
}

// lanesRunning is the number of goroutines of lanes in this process.
func lanesRunning() int {
	synctest.Wait()
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("node.(*lane).run("))
}

func TestSubmittingNeverBlocks(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		for range maxQueue { // and as many releases, which find no room any more
			r.ask("k", "1").release()
		}
		require.Zero(t, r.clock.Now())
	})
}

func TestAFullQueueMeansUnsent(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		r.ask("a", "0")
		first := r.expect(0, "set a 0")
		var last *bid
		for i := range maxQueue {
			last = r.ask(fmt.Sprint("k", i), "1")
		}
		late := r.ask("late", "1")
		late.requireVote(0, quorum.Unsent, ErrQueueFull)
		late.release()
		late.requireAnswer(0, 1, quorum.Clear, false)

		// There is no room behind a queued SET, so it goes too.
		last.giveUp(false, patience)
		last.requireVote(0, quorum.Unsent, ErrWithdrawn)
		last.requireAnswer(0, 1, quorum.Clear, false)

		first.end(nil, granted)
		sent := 0
		for sent < maxQueue-1 {
			b, _ := r.next(0)
			require.NotContains(t, b.words(), "set late 1")
			sent += len(b.cmds)
			b.end(nil, granted)
		}
		require.Equal(t, maxQueue-1, sent)
		r.quiet(0)
	})
}

func TestAReleaseThatFindsNoRoomBehindASetUnderWayIsOwed(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		b := r.ask("k", "1")
		first := r.expect(0, "set k 1")
		for i := range maxQueue {
			r.ask(fmt.Sprint("k", i), "1")
		}
		b.release()
		require.ErrorIs(t, b.answer(0, 1).cause, ErrQueueFull)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		require.Equal(t, 1, r.Debts()[0])
		first.end(nil, granted)
		second, _ := r.next(0)
		require.Equal(t, "release k 1", second.words()[0])
		second.end(nil, deleted, granted)
		synctest.Wait()
		require.Zero(t, r.Debts()[0])
		for sent := len(second.cmds) - 1; sent < maxQueue; {
			b, _ := r.next(0)
			sent += len(b.cmds)
			b.end(nil, granted)
		}
	})
}
