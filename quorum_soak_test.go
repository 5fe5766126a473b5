package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// soakVariable says how many cycles are to be made, and how many calls that fail: "1000000,100000".
const soakVariable = "REDLOCK_SOAK"

// soak is so much.
type soak struct{ cycles, failing int }

// soakOf reads what the variable says.
func soakOf(text string) (soak, error) {
	var numbers []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return soak{}, fmt.Errorf("%s=%q: %q is no number above zero", soakVariable, text, word)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) != 2 {
		return soak{}, fmt.Errorf("%s=%q: wanted are two numbers, of cycles and of failing calls, as in 1000000,100000", soakVariable, text)
	}
	return soak{numbers[0], numbers[1]}, nil
}

func TestTheSoakRefusesWhatIsNotTwoNumbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", ",", "1", "1,", ",1", "1,2,3", "0,1", "1,0", "-1,1", "1, 2", "many,few", "1e6,1", "99999999999999999999,1"} {
		_, err := soakOf(text)
		require.ErrorContains(t, err, soakVariable+"="+strconv.Quote(text))
	}
	got, err := soakOf("1000000,100000")
	require.NoError(t, err)
	require.Equal(t, soak{1_000_000, 100_000}, got)
}

// soaking is what the environment asks for, or as much as fits among the other tests.
func (tr *trial) soaking() soak {
	tr.t.Helper()
	text := os.Getenv(soakVariable)
	switch {
	case text != "":
		s, err := soakOf(text)
		require.NoError(tr.t, err)
		return s
	case tr.Backend == testcluster.Embedded && raceDetector:
		return soak{400, 100} // these interpret every script
	case tr.Backend == testcluster.Embedded:
		return soak{2_000, 200}
	case raceDetector:
		return soak{10_000, 1_000}
	}
	return soak{20_000, 1_000}
}

const (
	soakCallers = 16
	soakTTL     = 2 * time.Second
	soakTimeout = 800 * time.Millisecond
)

// Not parallel, since it counts what this process holds. A Locker that lives on holds no goroutine when the calls are over, whatever
// came of them, and no more files and heap than after the first few; on the nodes there is no key.
func TestSoakLeavesNothingBehind(t *testing.T) {
	tr := begin(t, testcluster.Stop, testcluster.KillEmpty)
	s := tr.soaking()
	goroutines := goroutineCount()
	l := tr.openAt(tr.urls(true), redlock.WithTTL(soakTTL), redlock.WithNodeTimeout(soakTimeout))
	tr.soak(l, soak{max(s.cycles/20, 200), max(s.failing/20, 50)}) // what is made once stays
	tr.atRest(l)
	require.True(t, until(10*time.Second, func() bool { return goroutineCount() <= goroutines }),
		"%d goroutines and not %d", goroutineCount(), goroutines)
	base := measure()
	base.goroutines = goroutines
	start := time.Now()
	tr.soak(l, s)
	took := time.Since(start)
	tr.atRest(l)
	after, err := settled(base, 10*time.Second)
	t.Logf("%d cycles and %d failing calls by %d callers in %v; before: %v; after: %v", s.cycles, s.failing, soakCallers, took, base, after)
	require.NoError(t, err)
}

// soak makes the cycles, and then the failing calls while one node is dead, one hangs, and of the others somebody else has what is
// wanted. In the end all nodes run, one of them empty.
func (tr *trial) soak(l *redlock.Locker, s soak) {
	t := tr.t
	t.Helper()
	ctx := t.Context()
	tr.insist(s.cycles, func(caller, i int) error { return cycle(ctx, l, fmt.Sprint("k", caller), i) })
	tr.take(takenByAll, 0, all...)
	for caller := range soakCallers {
		tr.take(takenByOne(caller), 0, 2)
	}
	tr.each([]int{0}, kill)
	tr.each([]int{1}, stop)
	tr.insist(s.failing, func(caller, i int) error { return fail(ctx, l, caller, i) })
	tr.each([]int{1}, cont)
	tr.each([]int{0}, startEmpty)
	tr.free(takenByAll)
	for caller := range soakCallers {
		tr.free(takenByOne(caller))
	}
}

// insist lets the callers do something so many times. What a node was too slow for is done again: of ten not more than one, for
// how slow the machine may be.
func (tr *trial) insist(times int, f func(caller, i int) error) {
	tr.t.Helper()
	var late atomic.Int64
	require.NoError(tr.t, each(times, func(caller, i int) error {
		for {
			err := f(caller, i)
			isLate := errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, redlock.ErrLost) || errors.Is(err, redlock.ErrTooSlow)
			if !isLate || late.Add(1) > int64(times/10) {
				return err
			}
		}
	}))
	if n := late.Load(); n > 0 {
		tr.t.Logf("%d of %d were done again", n, times)
	}
}

// atRest waits until the Locker owes nothing to any node, and no node has anything of it.
func (tr *trial) atRest(l *redlock.Locker) {
	t := tr.t
	t.Helper()
	owed := func() (sum int) {
		seen, err := l.Inspect(t.Context(), takenByAll)
		if err != nil {
			return -1 // too few nodes answered: none has an idea yet
		}
		for _, n := range seen.Nodes {
			sum += n.Owed
		}
		return sum
	}
	require.True(t, until(20*time.Second, func() bool { return owed() == 0 && len(tr.keys()) == 0 }),
		"%d keys are owed, and there are %v", owed(), tr.keys())
}

// each lets many callers do something so many times in all.
func each(times int, f func(caller, i int) error) error {
	var next atomic.Int64
	var g errgroup.Group
	for caller := range soakCallers {
		g.Go(func() error {
			for {
				i := int(next.Add(1))
				if i > times {
					return nil
				}
				if err := f(caller, i); err != nil {
					next.Store(int64(times)) // the others need not go on
					return fmt.Errorf("caller %d, %d of %d: %w", caller, i, times, err)
				}
			}
		})
	}
	return g.Wait()
}

// cycle takes a lock that nobody else wants and gives it back. Some are extended, and some kept alive meanwhile.
func cycle(ctx context.Context, l *redlock.Locker, key string, i int) error {
	lock, err := l.TryLock(ctx, key)
	if err != nil {
		return err
	}
	kept := func() error { return redlock.ErrUnlocked }
	if i%100 == 0 {
		kept = keep(ctx, lock)
	}
	if i%20 == 0 {
		err = lock.Extend(ctx)
	}
	err = errors.Join(err, lock.Unlock(ctx))
	if end := kept(); end != nil && !errors.Is(end, redlock.ErrUnlocked) { // it came too late for KeepAlive to begin
		err = errors.Join(err, end)
	}
	return err
}

// What somebody else has for as long as calls are to fail.
const takenByAll = "taken"

// takenByOne is a key for each caller: they would be in one another's way.
func takenByOne(caller int) string { return fmt.Sprint("taken on one, for ", caller) }

// fail makes a call that cannot succeed beside a dead node and a hung one, in one of the ways there are. It must tell why.
func fail(ctx context.Context, l *redlock.Locker, caller, i int) error {
	short, cancel := context.WithTimeout(ctx, time.Duration(i%20+1)*100*time.Microsecond)
	defer cancel()
	classes := []error{redlock.ErrTaken}
	var err error
	switch i % 4 {
	case 0:
		_, err = l.TryLock(ctx, takenByAll)
	case 1:
		classes = []error{redlock.ErrNoQuorum}
		_, err = l.TryLock(ctx, takenByOne(caller))
	case 2:
		classes = []error{context.DeadlineExceeded}
		_, err = l.Lock(short, takenByAll)
	case 3:
		classes = []error{context.DeadlineExceeded, redlock.ErrNoQuorum} // whichever comes first
		_, err = l.TryLock(short, takenByOne(caller))
	}
	if !slices.ContainsFunc(classes, func(class error) bool { return errors.Is(err, class) }) {
		return fmt.Errorf("wanted was one of %v, and it came to: %w", classes, err)
	}
	return nil
}
