package sqltest_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/fence"
)

var seed = flag.Uint64("seed", 1, "of the first lane of random interleavings")

// Writers with random fences, each with a transaction of four steps, take their steps in random order: begin, admit, write,
// and commit or give up. A model of a dozen lines knows what each admission must answer, to the digit.
func TestInRandomInterleavingsTheDataBelongsToTheHighestFence(t *testing.T) {
	t.Parallel()
	rounds, lanes := 10_000, 4
	if testing.Short() {
		rounds = 400
	}
	db, _ := database(t, lanes)
	var met tally
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			for i := range rounds / lanes {
				s := *seed + uint64(lane*rounds+i)
				if err := newSchedule(db, lane+1, s, &met).run(t); err != nil {
					t.Errorf("%v\nreplay with: go test -run %s -short -seed %d", err, t.Name(), s)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d interleavings, seed %d: %d writes committed, %d given up, %d refused at once, %d refused after a wait, %d admitted after a wait",
		rounds, *seed, met.committed.Load(), met.givenUp.Load(), met.refused.Load(), met.refusedLate.Load(), met.admittedLate.Load())
	for _, n := range []*atomic.Int64{&met.committed, &met.givenUp, &met.refused, &met.refusedLate, &met.admittedLate} {
		require.Positive(t, n.Load(), "the interleavings do not meet every case")
	}
}

// tally counts what the interleavings met.
type tally struct {
	committed, givenUp, refused, refusedLate, admittedLate atomic.Int64
}

// writer is one transaction on its way.
type writer struct {
	fence   int64
	commits bool
	tx      *sql.Tx
	step    int
	late    chan error // not nil: Admit waits for the row, its answer comes here
	refused bool
}

// schedule is one interleaving on one row, and the model of that row.
type schedule struct {
	db   *sql.DB
	id   int
	rng  *rand.Rand
	met  *tally
	todo []*writer

	highest int64   // committed
	holder  *writer // has the row's lock: who was admitted, and who was refused after a wait, since he was given it to look
	waiter  *writer // waits for it; one at a time, for the database does not say who comes first of two
}

func newSchedule(db *sql.DB, id int, seed uint64, met *tally) *schedule {
	s := &schedule{db: db, id: id, rng: rand.New(rand.NewPCG(seed, 0)), met: met}
	for range 2 + s.rng.IntN(3) {
		s.todo = append(s.todo, &writer{fence: 1 + s.rng.Int64N(4), commits: s.rng.IntN(4) > 0})
	}
	return s
}

func (s *schedule) run(t *testing.T) error {
	if _, err := s.db.ExecContext(t.Context(), "UPDATE accounts SET owner = 0, fence = 0 WHERE id = $1", s.id); err != nil {
		return err
	}
	for len(s.todo) > 0 {
		i := s.rng.IntN(len(s.todo))
		w := s.todo[i]
		if w == s.waiter || w.step == 1 && s.waits(w) && s.waiter != nil {
			continue // the holder of the row is among todo, so the others get on
		}
		done, err := s.advance(t, w)
		if err != nil {
			return fmt.Errorf("fence %d, step %d: %w", w.fence, w.step, err)
		}
		if done {
			s.todo = append(s.todo[:i], s.todo[i+1:]...)
		}
	}
	return nil
}

// waits reports whether w's UPDATE must wait: it meets the row as it was committed, and somebody has changed it since.
func (s *schedule) waits(w *writer) bool { return s.holder != nil && w.fence >= s.highest }

func (s *schedule) advance(t *testing.T, w *writer) (done bool, err error) {
	step := w.step
	w.step++
	switch {
	case step == 0:
		w.tx, err = s.db.BeginTx(t.Context(), nil)
		return false, err
	case step == 1 && s.waits(w):
		s.waiter, w.late = w, make(chan error, 1)
		go func() { w.late <- accounts.Row(w.tx, s.id).Admit(t.Context(), w.fence) }() // end waits for it
		return false, nil
	case step == 1:
		return false, s.answered(w, accounts.Row(w.tx, s.id).Admit(t.Context(), w.fence))
	case w.refused && s.holder != w:
		return true, w.tx.Rollback()
	case w.refused:
		return true, s.end(t, w)
	case step == 2:
		return false, own(t.Context(), w.tx, s.id, w.fence)
	default:
		return true, s.end(t, w)
	}
}

// answered holds an admission against the model.
func (s *schedule) answered(w *writer, err error) error {
	late := w.late != nil
	if w.fence >= s.highest {
		if late {
			s.met.admittedLate.Add(1)
		}
		s.holder = w
		return err
	}
	w.refused = true
	stale, ok := errors.AsType[*fence.StaleError](err)
	if !ok || *stale != (fence.StaleError{Fence: w.fence, Highest: s.highest}) {
		return fmt.Errorf("%w, where %d was committed", errors.Join(errors.New("admit"), err), s.highest)
	}
	if late {
		s.holder = w
		s.met.refusedLate.Add(1)
	} else {
		s.met.refused.Add(1)
	}
	return nil
}

// end ends the holder's transaction, looks at what is committed, and takes the answer of who waited.
func (s *schedule) end(t *testing.T, w *writer) error {
	s.holder = nil
	var err error
	switch {
	case w.refused:
		err = w.tx.Rollback()
	case w.commits:
		s.highest = w.fence
		s.met.committed.Add(1)
		err = w.tx.Commit()
	default:
		s.met.givenUp.Add(1)
		err = w.tx.Rollback()
	}
	if err != nil {
		return err
	}
	var owner, highest int64
	err = s.db.QueryRowContext(t.Context(), "SELECT owner, fence FROM accounts WHERE id = $1", s.id).Scan(&owner, &highest)
	if err != nil || owner != s.highest || highest != s.highest {
		return fmt.Errorf("owner %d, fence %d, where %d was committed: %w", owner, highest, s.highest, err)
	}
	if s.waiter == nil {
		return nil
	}
	waiter := s.waiter
	s.waiter = nil
	return s.answered(waiter, <-waiter.late)
}

// The same without a schedule: the database orders what eight writers do at once, and a reader sees no step back.
func TestTheStoredFenceNeverFallsUnderWritersThatNobodyOrders(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 100
	db, _ := database(t, 1)
	var wrote, refused atomic.Int64
	var wg sync.WaitGroup
	done := make(chan struct{})
	for w := range int64(writers) {
		wg.Go(func() {
			for i := range int64(each) {
				switch err := write(t.Context(), db, sql.LevelDefault, 1, 1+i*writers+(w*5+i)%writers); {
				case err == nil:
					wrote.Add(1)
				case errors.Is(err, fence.ErrStale):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	go func() { // ended by the writers' end; done is waited for
		wg.Wait()
		close(done)
	}()
	last, looks := int64(0), 0
	for running := true; running; looks++ {
		select {
		case <-done:
			running = false
		default:
		}
		owner, highest := row(t, db, 1)
		require.Equal(t, highest, owner)
		require.GreaterOrEqual(t, highest, last)
		last = highest
	}
	t.Logf("%d written, %d refused, looked at %d times", wrote.Load(), refused.Load(), looks)
	require.EqualValues(t, writers*each, last)
	require.EqualValues(t, writers*each, wrote.Load()+refused.Load())
}
