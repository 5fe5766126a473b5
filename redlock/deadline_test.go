package redlock

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// wait is a wait that notes when it was ended.
type wait struct {
	due   deadline
	clock clock.Clock
	ended []time.Duration
}

func (w *wait) endTime() { w.ended = append(w.ended, w.clock.Now()) }

// counted counts the timers of a clock.
type counted struct {
	clock.Clock
	set atomic.Int64
}

func (c *counted) AfterFunc(d time.Duration, f func()) func() bool {
	c.set.Add(1)
	return c.Clock.AfterFunc(d, f)
}

func manualDeadlines(t *testing.T) (*clock.Manual, *counted, *deadlines) {
	t.Helper()
	m := clock.NewManual(time.Unix(0, 0))
	c := &counted{Clock: m}
	return m, c, &deadlines{clock: c, wait: time.Second}
}

func TestEveryWaitIsEndedWhenItIsOverAndOnce(t *testing.T) {
	t.Parallel()
	m, _, s := manualDeadlines(t)
	waits := make([]*wait, 5)
	for i := range waits {
		waits[i] = &wait{clock: m}
		s.add(&waits[i].due, m.Now(), waits[i])
		m.Advance(100 * time.Millisecond)
	}
	m.Advance(time.Hour)
	for i, w := range waits {
		require.Equal(t, []time.Duration{time.Second + time.Duration(i)*100*time.Millisecond}, w.ended)
	}
	again := &wait{clock: m}
	s.add(&again.due, m.Now(), again)
	m.Advance(time.Second)
	require.Len(t, again.ended, 1, "after a rest")
}

func TestAWaitThatIsRemovedIsNotEnded(t *testing.T) {
	t.Parallel()
	for gone := range 3 { // the first, one amidst, the last
		m, _, s := manualDeadlines(t)
		waits := []*wait{{clock: m}, {clock: m}, {clock: m}}
		for _, w := range waits {
			s.add(&w.due, m.Now(), w)
			m.Advance(10 * time.Millisecond)
		}
		s.remove(&waits[gone].due)
		s.remove(&waits[gone].due)
		m.Advance(time.Hour)
		for i, w := range waits {
			require.Equal(t, i == gone, len(w.ended) == 0)
			s.remove(&w.due) // which is over
		}
		require.Nil(t, s.head)
		require.Nil(t, s.tail)
	}
}

// Who read the clock earlier may come later. It waits no longer than from when it came, and holds up nobody.
func TestCallersThatComeOutOfTheirOrderAreEndedInTheirOrder(t *testing.T) {
	t.Parallel()
	m, _, s := manualDeadlines(t)
	var order []time.Duration
	m.Advance(time.Second)
	begun := []time.Duration{900, 1000, 700, 950}
	waits := make([]wait, len(begun))
	for i, ms := range begun {
		waits[i].clock = m
		s.add(&waits[i].due, ms*time.Millisecond, &waits[i])
	}
	for d := s.head; d != nil; d = d.next {
		order = append(order, d.at/time.Millisecond)
	}
	require.Equal(t, []time.Duration{1700, 1900, 1950, 2000}, order)
	m.Advance(time.Hour)
	for i := range waits {
		require.Len(t, waits[i].ended, 1)
		require.GreaterOrEqual(t, waits[i].ended[0], begun[i]*time.Millisecond+s.wait)
		require.LessOrEqual(t, waits[i].ended[0], time.Second+s.wait)
	}
}

func TestWaitsThatEndTogetherTakeOneTimer(t *testing.T) {
	t.Parallel()
	m, c, s := manualDeadlines(t)
	waits := make([]wait, 1000)
	for i := range waits {
		waits[i].clock = m
		s.add(&waits[i].due, m.Now(), &waits[i])
	}
	m.Advance(time.Second)
	for i := range waits {
		require.Len(t, waits[i].ended, 1)
	}
	require.EqualValues(t, 1, c.set.Load())
}

// Calls that end well do not set a timer each: one that rings for nothing sets the next.
func TestManyShortWaitsTakeOneTimerAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{Clock: clock.Monotonic()}
		s := &deadlines{clock: c, wait: time.Second}
		for range 10_000 {
			w := &wait{clock: c}
			s.add(&w.due, c.Now(), w)
			time.Sleep(time.Millisecond)
			s.remove(&w.due)
			require.Empty(t, w.ended)
		}
		require.LessOrEqual(t, c.set.Load(), int64(11))
		time.Sleep(time.Hour)
		s.mu.Lock()
		defer s.mu.Unlock()
		require.False(t, s.armed, "an idle Locker sets no timer")
	})
}
