package sim

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/seam"
	"github.com/quorumlock/go-redlock/internal/sim/store"
	"github.com/quorumlock/go-redlock/redlock"
)

// Verdict is what a schedule came to.
type Verdict struct {
	Acquired, Refused, Extended int
	Overlaps                    int // two clients had a key at once
	Writes, Stale               int // writes that were admitted; that came too late and were refused
	Forgot, Spared              int // nodes that lost what they carried; that were to and were spared, for A1's sake
	Steps                       int // of clocks
	LostReplies                 int
	Violations                  []string
	Trace                       string
}

func (v *Verdict) add(o Verdict) {
	v.Acquired += o.Acquired
	v.Refused += o.Refused
	v.Extended += o.Extended
	v.Overlaps += o.Overlaps
	v.Writes += o.Writes
	v.Stale += o.Stale
	v.Forgot += o.Forgot
	v.Spared += o.Spared
	v.Steps += o.Steps
	v.LostReplies += o.LostReplies
}

// world is everything that a schedule is about. Its time is that of a bubble.
type world struct {
	scenario  Scenario
	seed      uint64
	plan      plan
	ctx       context.Context //nolint:containedctx // the schedule's own
	start     time.Time
	epoch     time.Time // what true wall time is at the start
	nodes     []*master
	clients   []*client
	resources map[string]*resource
	check     *checker
	requests  chan request
	trace     *trace // nil: nobody reads it

	mu      sync.Mutex // protects what the nodes keep, the resources, the trace and the verdict
	verdict Verdict
}

// Run runs the schedule of a seed in a bubble of its own.
func Run(t *testing.T, s Scenario, seed uint64, traced bool) Verdict {
	t.Helper()
	return run(t, s, seed, traced, false)
}

// RunStack runs it through real clients over connections in memory. These have chance of their own: the same seed may come out otherwise.
func RunStack(t *testing.T, s Scenario, seed uint64) Verdict {
	t.Helper()
	return run(t, s, seed, false, true)
}

func run(t *testing.T, s Scenario, seed uint64, traced, stack bool) (v Verdict) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t.Context(), s, seed, traced, stack)
		w.run()
		v = w.verdict
		if traced {
			v.Trace = w.trace.String()
		}
	})
	return v
}

func newWorld(ctx context.Context, s Scenario, seed uint64, traced, stack bool) *world {
	d := throw(seed, 0)
	w := &world{
		scenario: s, seed: seed, plan: newPlan(s, &d), ctx: ctx, start: time.Now(), epoch: time.Now().Add(26 * 365 * 24 * time.Hour),
		resources: make(map[string]*resource), requests: make(chan request),
	}
	w.check = newChecker(w)
	for i := range w.plan.keys {
		w.resources[w.key(i)] = &resource{}
	}
	names := make([]string, w.plan.nodes)
	for i := range names {
		names[i] = "10.0.0." + strconv.Itoa(i+1) + ":6379"
		w.nodes = append(w.nodes, &master{
			world: w, index: i, ppm: d.ppm(w.plan.rates), skew: d.between(0, w.plan.skews), store: store.New(),
		})
	}
	for i := range w.plan.clients {
		w.clients = append(w.clients, newClient(w, i, &d, names, stack))
	}
	if traced {
		w.trace = newTrace(w)
	}
	return w
}

func newClient(w *world, index int, d *dice, names []string, stack bool) *client {
	c := &client{
		world: w, index: index, ppm: d.ppm(w.plan.rates), late: d.between(0, 300*time.Microsecond), timeout: w.plan.timeout,
		dice: throw(w.seed, 2, uint64(index)),
	}
	on := seam.Nodes{Names: names, Settle: func() { time.Sleep(time.Nanosecond) }} // time passes once nobody else can run
	slow := d.between(100*time.Microsecond, 5*time.Millisecond)
	for i, n := range w.nodes {
		l := &link{client: c, node: n, dice: throw(w.seed, 3, uint64(index), uint64(i)), slow: slow, heard: make(chan []answer, 1)}
		l.slot = time.Duration(index*len(w.nodes) + i)
		c.links = append(c.links, l)
		on.Transports = append(on.Transports, l)
		on.Listeners = append(on.Listeners, &ear{client: c, node: n, link: l, dice: throw(w.seed, 4, uint64(index), uint64(i))})
	}
	chance := throw(w.seed, 5, uint64(index))
	on.Chance = chance.next
	open := func(opts []redlock.Option) (*redlock.Locker, error) {
		return seam.Over.(func(seam.Nodes, ...redlock.Option) (*redlock.Locker, error))(on, opts...)
	}
	if stack {
		open = func(opts []redlock.Option) (*redlock.Locker, error) { return c.openStack(names, opts) }
	}
	locker, err := open(append(w.plan.options(w.scenario), redlock.WithClock(clock{c})))
	if err != nil {
		panic(fmt.Sprintf("%+v: %v", w.plan, err))
	}
	c.locker = locker
	return c
}

// run lets everything happen, waits until it is over, and looks at what is left.
func (w *world) run() {
	for _, n := range w.nodes {
		for _, source := range node.Scripts() {
			if _, err := n.store.Load(source); err != nil {
				panic(err)
			}
		}
	}
	events := w.fates()
	if w.trace != nil {
		w.trace.begin()
	}
	go serving(w.requests) // ended by the close below
	defer close(w.requests)
	var all sync.WaitGroup
	all.Go(func() { w.befall(events) })
	for _, c := range w.clients {
		all.Go(func() { c.run(w.ctx) })
	}
	all.Wait()
	w.settle()
}

// settle is the end: no fault any more, a second for what is owed, and then nothing may be left.
func (w *world) settle() {
	w.sleepUntil(w.plan.horizon + 2*w.plan.ttl + 2*w.plan.timeout) // the last bytes that were held up have come by then
	w.sleepUntil(w.now() + time.Second)
	w.check.leftovers(w.now())
	for _, c := range w.clients {
		if err := c.locker.Close(w.ctx); err != nil {
			w.violation("I9: %s cannot be closed: %v", c.name(), err)
		}
	}
}

func (w *world) now() time.Duration { return time.Since(w.start) }

func (w *world) sleepUntil(t time.Duration) {
	if d := t - w.now(); d > 0 {
		time.Sleep(d)
	}
}

func (w *world) key(i int) string { return "k" + strconv.Itoa(i) }

func (w *world) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

func (w *world) violation(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violationLocked(format, args...)
}

func (w *world) violationLocked(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.verdict.Violations = append(w.verdict.Violations, fmt.Sprintf("%v: %s", w.now(), text))
	if w.trace != nil {
		w.trace.line(w.now(), "VIOLATION "+text, nil)
	}
}

func (w *world) note(c *client, text string) {
	if w.trace == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace.line(w.now(), c.name()+" "+text, nil)
}

func (w *world) noteErr(c *client, text string, err error) {
	if w.trace != nil {
		w.note(c, text+": "+brief(err))
	}
}
