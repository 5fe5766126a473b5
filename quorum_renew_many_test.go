//go:build unix

package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

const (
	manyTTL    = 9 * time.Second
	manyReport = "lost %d, cpu %d, goroutines %d, a timer late by %d"
)

// many is how many locks are kept and for how long: fewer where the race detector makes them cost many times as much.
func many() (locks int, d time.Duration) {
	if raceDetector {
		return 2_000, 20 * time.Second
	}
	return 10_000, time.Minute
}

func init() { roles["keeper"] = keepMany }

// Ten thousand locks are kept alive for a minute by another process, whose processor time is its own: none is lost, it costs
// at most a tenth of one core, and no more goroutines than there are calls of KeepAlive.
func TestTenThousandLocksAreKeptAliveForATenthOfACore(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	t.Parallel()
	tr := begin(t)
	if tr.Backend == testcluster.Embedded {
		t.Skip("these masters interpret every script, and share our processors")
	}
	locks, d := many()
	for try := 1; ; try++ {
		k := tr.keptMany()
		t.Logf("%d locks for %v: %d lost, %v of processor time (%.1f %% of a core), %d goroutines; a timer was late by %v",
			locks, d, k.lost, k.cpu, 100*k.cpu.Seconds()/d.Seconds(), k.goroutines, k.late)
		if k.lost > 0 && k.late > 5*slack && try < 3 {
			continue // this machine had no time for the other process, nor for the masters
		}
		require.Zero(t, k.lost)
		require.LessOrEqual(t, k.goroutines, locks+4*len(tr.Nodes)+8)
		if !raceDetector {
			require.LessOrEqual(t, k.cpu, d/10)
		}
		return
	}
}

// kept is what it came to.
type kept struct {
	lost, goroutines int
	cpu              time.Duration
	late             time.Duration // by how much a bare timer was, at worst
}

func (tr *trial) keptMany() (k kept) {
	tr.t.Helper()
	c := tr.child("keeper", urlsVariable+"="+strings.Join(tr.urls(true), ","))
	_, err := fmt.Sscanf(c.hear(), manyReport, &k.lost, &k.cpu, &k.goroutines, &k.late)
	require.NoError(tr.t, err)
	if err := c.end(); k.lost == 0 { // one that was lost cannot be given back
		require.NoError(tr.t, err)
	}
	require.True(tr.t, until(2*manyTTL, func() bool { return len(tr.keys()) == 0 }))
	return k
}

// keepMany keeps locks alive, says what it cost, and gives them back.
func keepMany(l *redlock.Locker) error {
	n, d := many()
	ctx, cancel := context.WithTimeout(context.Background(), d+2*time.Minute)
	defer cancel()
	while, stop := context.WithCancel(ctx)
	defer stop()
	var lost atomic.Int64
	var keeping sync.WaitGroup
	locks := make([]*redlock.Lock, n)
	err := eachOf(n, func(i int) (err error) {
		if locks[i], err = l.Lock(ctx, fmt.Sprint("k", i), redlock.WithTTL(manyTTL)); err != nil {
			return err
		}
		keeping.Go(func() {
			if err := locks[i].KeepAlive(while); err != nil {
				lost.Add(1)
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	before, most, late := processorTime(), 0, time.Duration(0)
	for end := time.Now().Add(d); time.Now().Before(end); {
		due := time.Now().Add(100 * time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		late = max(late, time.Since(due))
		most = max(most, runtime.NumGoroutine())
	}
	cpu := processorTime() - before
	fmt.Printf(manyReport+"\n", lost.Load(), cpu, most, late)
	stop()
	keeping.Wait()
	err = eachOf(n, func(i int) error { return locks[i].Unlock(ctx) })
	return errors.Join(err, l.Close(ctx))
}

// eachOf calls f with all numbers below n, by a hundred goroutines.
func eachOf(n int, f func(i int) error) error {
	var g errgroup.Group
	const callers = 100
	for caller := range callers {
		g.Go(func() error {
			for i := caller; i < n; i += callers {
				if err := f(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// processorTime is how much this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot be: both arguments are valid
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
