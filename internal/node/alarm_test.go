package node

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// tardy is a clock whose timers are always about to ring already when they are stopped.
type tardy struct {
	clock.Clock
	set int
}

func (c *tardy) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.set++
	c.Clock.AfterFunc(d, f)
	return func() bool { return false }
}

func TestAnAlarmThatWasReplacedTooLateToBeStoppedDoesNothing(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		c := &tardy{Clock: r.clock}
		r.Group.clock = c
		r.doubtful("far", "1", ttl).release()
		for _, at := range []time.Duration{0, 50, 200, 1000} {
			r.expectAt(0, at*ms, "release far 1").end(nil, absent)
		}
		r.holding("near", "1").release()
		r.requireAlarm(3500 * ms)
		r.expect(0, "release near 1").end(errReset, silent) // replaces the alarm of 3.5 s by one of 10 ms
		r.requireAlarm(1010 * ms)
		r.wait(5 * ms)
		r.ask("far", "2")
		r.expect(0, "release far 1", "set far 2").end(nil, absent, granted)
		r.expect(0, "release near 1").end(nil, deleted)
		r.wait(5 * ms) // the second alarm rings early, for nothing
		r.requireAlarm(3505 * ms)
		set := c.set
		r.wait(3500*ms - r.clock.Now()) // the first alarm rings now
		r.requireAlarm(3505 * ms)
		require.Equal(t, set, c.set)
		r.expectAt(0, 3505*ms, "release far 1").end(nil, absent)
	})
}

// requireAlarm requires that node 0 has an alarm set for that time.
func (r *rig) requireAlarm(at time.Duration) {
	r.t.Helper()
	synctest.Wait()
	n := r.lanes[0]
	n.mu.Lock()
	defer n.mu.Unlock()
	require.NotNil(r.t, n.alarm)
	require.Equal(r.t, at, n.alarm.at)
}

func TestAGroupWithNothingToDoHasNoAlarm(t *testing.T) {
	t.Parallel()
	bubble(t, 1, func(t *testing.T, r *rig) {
		c := &tardy{Clock: r.clock}
		r.Group.clock = c
		r.holding("k", "1").release()
		r.expect(0, "release k 1").end(nil, deleted)
		r.ask("x", "1")
		r.expect(0, "set x 1").end(errRefusedDial, notAsked)
		synctest.Wait()
		require.Zero(t, c.set)
	})
}
