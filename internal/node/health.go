package node

import "time"

const (
	minPause = 10 * time.Millisecond
	maxPause = time.Second
)

// health is what is known of a node from its answers and its silence.
type health struct {
	suspect   bool
	failures  int           // round trips in a row without any answer
	notBefore time.Duration // the next try on the node's own account
}

// pausing tells whether the node failed so lately that nothing is tried on its own account yet.
func (h *health) pausing(now time.Duration) bool {
	return h.failures > 0 && now < h.notBefore
}

// heard notes that the node answered something. The mutex is held.
func (n *lane) heard() {
	if n.health.suspect {
		n.group.suspects.Add(-1)
	}
	n.health = health{}
}

// missed notes a round trip without any answer. A failure that came quickly (a refused connection, a reset) says that the
// node is not there; only one that owes an answer past its timeout is suspect. The mutex is held.
func (n *lane) missed(departed, now time.Duration) {
	n.health.notBefore = now + min(minPause<<min(n.health.failures, 10), maxPause)
	n.health.failures++
	if now-departed >= n.group.timeout {
		n.doubt()
	}
}

func (n *lane) doubt() {
	if !n.health.suspect {
		n.health.suspect = true
		n.group.suspects.Add(1)
	}
}

// look marks the node suspect if the batch under way is late. The mutex is not held.
func (n *lane) look(now time.Duration) {
	if !n.isLate(now) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isLate(now) { // still: it may have come back meanwhile
		n.doubt()
	}
}

func (n *lane) isLate(now time.Duration) bool {
	departed := time.Duration(n.departed.Load())
	return departed != never && now-departed > n.group.timeout
}

// takeProbe takes the one thing that may go to a suspect node now: its oldest debt, else the next operation, else PING.
func (n *lane) takeProbe(now time.Duration) {
	if now < n.health.notBefore {
		n.expireQueued(now)
		return
	}
	if e := n.debts.first(); e != nil {
		n.takeDebt(e, now)
		return
	}
	for n.queue.len > 0 {
		if o := n.takeHead(now); o != nil {
			n.depart(o)
			return
		}
	}
	if n.dead {
		return // nobody wants to know any more
	}
	o := &op{kind: kindPing}
	o.reset([]any{"ping"})
	n.batch = append(n.batch, o)
	n.pinging = true
	n.settleIdle()
}

// expireQueued takes out what waited too long behind the probe. All that waits has about the same patience, so the scan
// ends at the first that still has some.
func (n *lane) expireQueued(now time.Duration) {
	for n.queue.len > 0 {
		if o := n.queue.head; o.deadline == 0 || now < o.deadline {
			return
		}
		n.takeHead(now)
	}
}

// alarm is the lane's one timer.
type alarm struct {
	at   time.Duration
	stop func() bool
}

// rest sets the alarm for what has to be done later, as the goroutine ends. The mutex is held.
func (n *lane) rest(now time.Duration) {
	n.settleIdle()
	var at time.Duration
	switch first := n.debts.first(); {
	case n.dead && n.queue.len == 0:
		return
	case n.health.suspect:
		at = n.health.notBefore
	case first != nil:
		at = first.due
		if n.health.failures > 0 {
			at = max(at, n.health.notBefore)
		}
	default:
		return
	}
	if n.alarm != nil {
		if n.alarm.at <= at {
			return // it rings early and is set again then
		}
		n.alarm.stop() // where it is too late for that, ring takes no notice of it
	}
	a := &alarm{at: at}
	a.stop = n.group.clock.AfterFunc(max(at-now, 0), func() { n.ring(a) })
	n.alarm = a
}

func (n *lane) ring(a *alarm) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.alarm == a {
		n.alarm = nil
		n.start()
	}
}
