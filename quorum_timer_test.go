package quorum_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slack is what the promises of time add to their bounds: what a scheduler needs on a machine that has time.
const slack = 50 * time.Millisecond

// timers is a bare timer goroutine that is there while any test looks at it. How late it is tells what this machine does
// to every timer at that moment; bounds of the library are held against it.
var timers struct {
	start   sync.Once
	mu      sync.Mutex // protects what follows
	windows map[*window]struct{}
}

// window is a time in which the bare timer is watched.
type window struct {
	worst   time.Duration
	samples int
}

const samplePeriod = 4 * time.Millisecond

func watchTimers() *window {
	timers.start.Do(func() {
		timers.windows = make(map[*window]struct{})
		go sampleTimers()
	})
	w := &window{}
	timers.mu.Lock()
	timers.windows[w] = struct{}{}
	timers.mu.Unlock()
	return w
}

// sampleTimers never ends; goroutinesEnded counts on it.
func sampleTimers() {
	for {
		due := time.Now().Add(samplePeriod)
		time.Sleep(samplePeriod)
		late := time.Since(due)
		timers.mu.Lock()
		for w := range timers.windows {
			w.worst = max(w.worst, late)
			w.samples++
		}
		timers.mu.Unlock()
	}
}

// close ends the window and returns the worst lateness in it, that of a timer which is late at this very moment included.
func (w *window) close() time.Duration {
	timers.mu.Lock()
	seen := w.samples
	for w.samples < seen+1 {
		timers.mu.Unlock()
		time.Sleep(samplePeriod / 4)
		timers.mu.Lock()
	}
	defer timers.mu.Unlock()
	delete(timers.windows, w)
	return w.worst
}

// inTime returns an error unless f returns within limit. Beside the slack it forgives twice the worst lateness of a bare
// timer meanwhile: a call that ends by time wakes up twice, first the timer's goroutine, then by it the caller's.
func inTime(limit time.Duration, f func()) error {
	w := watchTimers()
	start := time.Now()
	f()
	took := time.Since(start)
	late := w.close()
	if took > limit+slack+2*late {
		return fmt.Errorf("took %v, which is more than %v and %v, and a bare timer was only %v late", took, limit, slack, late)
	}
	return nil
}

// mustBeInTime fails the test unless f returns within limit, as far as this machine lets anybody.
func mustBeInTime(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	require.NoError(t, inTime(limit, f))
}
