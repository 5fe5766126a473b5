package sim

import (
	"time"

	"github.com/quorumlock/go-redlock/redlock"
)

// Scenario is a kind of schedules. The zero one keeps every assumption; each field breaks one.
type Scenario struct {
	Name  string
	About string
	// Forget lets a node restart without its data, or put its clock ahead, though no more than a bare majority carries a lock.
	Forget, Step bool
	Late         bool // a node forgets, and what its holder sent to two others comes once somebody else had the lock
	Lie          bool // a node grants everybody everything
	Fast         bool // the clocks of three nodes run by 8.3 % too fast, for a drift setting of 1 %
	Wide         bool // they do, and the drift setting is 16 %: this breaks nothing
	Deaf         bool // holders ignore that the lock was lost
}

// Scenarios are all there are, by name.
var Scenarios = []Scenario{
	{Name: "clean", About: "every assumption is kept: nothing may be found"},
	{Name: "forget", About: "A1 broken: a node of a bare majority restarts without its data", Forget: true},
	{Name: "late", About: "A1 broken: the same, and the holder's SET comes late to two others; nobody extends a lock that another had since", Late: true},
	{Name: "step", About: "A1 broken: a node of a bare majority puts its clock ahead", Step: true},
	{Name: "lie", About: "A1 broken: a node of a bare majority grants everybody everything", Lie: true},
	{Name: "fast", About: "A2 broken: three clocks run faster than the drift setting allows", Fast: true},
	{Name: "wide", About: "A2 kept: clocks as fast, and a drift setting that covers it: nothing may be found", Fast: true, Wide: true},
	{Name: "deaf", About: "A3 broken: holders ignore loss", Deaf: true},
}

// Find returns the scenario of a name.
func Find(name string) (Scenario, bool) {
	for _, s := range Scenarios {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

// Broken tells whether the scenario breaks an assumption, so that an overlap is to be found.
func (s Scenario) Broken() bool {
	return s.Forget || s.Late || s.Step || s.Lie || s.Fast && !s.Wide || s.Deaf
}

// plan is what is drawn once for a whole schedule.
type plan struct {
	nodes, clients, keys, turns int

	horizon  time.Duration // after it nothing fails any more
	ttl      time.Duration
	timeout  time.Duration // of a node
	fenced   bool
	lossy    int           // of a thousand packets
	failing  int           // of a thousand batches that are run and answered by errors
	doubling int           // of a thousand batches that arrive twice
	rates    int64         // of the clocks, in millionths, to either side
	skews    time.Duration // by which the nodes' clocks differ
	hangs    int           // at most, a node
	crashes  int
	cuts     int // at most, a link and direction
	pauses   int // at most, a client
	steps    int // of clocks, at most, a node
	flushes  int // of scripts, at most, a node
}

func newPlan(s Scenario, d *dice) plan {
	p := plan{
		nodes: []int{3, 5, 5, 5, 5, 5, 5, 7}[d.below(8)], clients: 2 + d.below(3), keys: 1 + d.below(3), turns: 4 + d.below(5),
		ttl: d.between(250*time.Millisecond, 1500*time.Millisecond).Truncate(time.Millisecond), timeout: d.between(20*time.Millisecond, 60*time.Millisecond),
		fenced: d.often(400), rates: 4000, skews: 20 * time.Millisecond,
	}
	p.horizon = 2*p.ttl + d.between(0, time.Second)
	some := func(permille, most int) int {
		if d.often(permille) {
			return 1 + d.below(most)
		}
		return 0
	}
	if !d.often(100) { // one in ten sees no fault
		p.lossy, p.failing, p.doubling = some(400, 80), some(200, 30), some(200, 30)
		p.hangs, p.crashes, p.cuts = some(400, 2), some(500, 2), some(350, 2)
		p.pauses, p.steps, p.flushes = some(400, 3), some(250, 2), some(200, 2)
	}
	if s.Broken() || s.Wide {
		p.nodes, p.keys, p.fenced, p.clients = 5, 1, true, 3
		p.doubling = 0
	}
	if s.Forget || s.Late || s.Step {
		p.ttl, p.crashes, p.steps = 4*time.Second, 0, 0
		p.horizon = p.ttl
	}
	return p
}

// options are those of the Lockers of a schedule.
func (p plan) options(s Scenario) []redlock.Option {
	opts := []redlock.Option{
		redlock.WithTTL(p.ttl), redlock.WithNodeTimeout(p.timeout), redlock.WithBackoff(p.ttl/16, p.ttl/6),
	}
	if p.fenced {
		opts = append(opts, redlock.WithFencing())
	}
	if s.Wide {
		opts = append(opts, redlock.WithDrift(0.16))
	}
	return opts
}
