package redlock

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNoTokenIsEverRepeated(t *testing.T) {
	t.Parallel()
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	const size = 26 // characters of five bits: 130 bits
	seen := make(map[[size]byte]struct{}, n)
	for range n {
		var token [size]byte
		if copy(token[:], newToken()) < size {
			require.FailNow(t, "a token of fewer bits than it should have")
		}
		seen[token] = struct{}{}
	}
	require.Len(t, seen, n)
}

// The counter is no atomic: it is right only if no two hold the lock at once, and if an Unlock happens before the next Lock.
func TestACounterUnderTheLockIsRight(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5, WithBackoff(time.Millisecond, 2*time.Millisecond), WithNodeTimeout(3*time.Second))
	others := []*Locker{c.Locker, c.another(t, WithBackoff(time.Millisecond, 3*time.Millisecond), WithNodeTimeout(3*time.Second))}
	counter := 0
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for range 5 {
				lock, err := others[i%2].Lock(t.Context(), "k")
				if err != nil {
					t.Error(err)
					return
				}
				counter++
				if err := lock.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 250, counter)
}

// After failures of every kind nothing is left: no goroutine, nothing under way, no place in a line, no timer that rings.
//
// Not parallel: it counts the goroutines of the process.
func TestNothingIsLeftAfterFailuresOfEveryKind(t *testing.T) {
	faults := map[string]way{
		"refused": {down: errRefused}, "slow refusal": {down: errRefused, out: nodeTimeout / 2}, "hung": {lose: true},
		"reply lost": {drop: true}, "slow": {out: nodeTimeout, back: nodeTimeout}, "error": bars("BUSY", 0),
		"shape": {answer: func(request) (any, error, bool) { return []any{"x"}, nil, true }},
	}
	for name, w := range faults {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5, WithTTL(time.Second))
			base := runtime.NumGoroutine()
			for i := range 100 {
				c.each(w, 0, 1, 2)
				key := strconv.Itoa(i % 7)
				if lock, err := c.TryLock(t.Context(), key); err == nil {
					_ = lock.Unlock(t.Context())
				}
				_, _ = c.Lock(after(t, time.Duration(i)*time.Millisecond), key)
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				_, _ = c.Lock(ended, key)
				c.each(way{}, 0, 1, 2)
			}
			c.settle(t)
			require.Empty(t, c.ours(), name)
			require.Empty(t, c.core.lines.byKey, name)
			require.LessOrEqual(t, runtime.NumGoroutine(), base+len(c.masters), name)
			before := c.sent("")
			time.Sleep(time.Hour)
			require.Equal(t, before, c.sent(""), "%s: it asks on", name)
		})
	}
}

// A hung node holds one goroutine and not one a caller.
//
// Not parallel: it counts the goroutines of the process.
func TestGoroutinesDoNotGrowWithTheCallsOnHungNodes(t *testing.T) {
	for hung := 1; hung <= 5; hung++ {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 5)
			for _, m := range c.masters[:hung] {
				m.stop()
				m.timeout = time.Hour
			}
			base := runtime.NumGoroutine()
			for i := range 1000 {
				if lock, err := c.TryLock(after(t, time.Millisecond), fmt.Sprint(i)); err == nil {
					require.NoError(t, lock.Unlock(t.Context()))
				}
			}
			require.LessOrEqual(t, runtime.NumGoroutine(), base+hung+len(c.masters))
			for _, m := range c.masters[:hung] {
				m.resume()
			}
		})
	}
}
