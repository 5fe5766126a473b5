package sim

import (
	"fmt"
	"slices"
	"time"
)

// event is something that befalls a node at a moment. Windows need none: everybody looks at them.
type event struct {
	at   time.Duration
	node *master
	do   func(t time.Duration) string // what is to be seen of it, for the trace
}

// fates draws what befalls the nodes, the clients and the links of a schedule.
func (w *world) fates() (events []event) {
	d := throw(w.seed, 1)
	p := w.plan
	for _, n := range w.nodes {
		n.hung = draw(&d, p.hangs, 5*time.Millisecond, 2*p.ttl, p.horizon)
		n.down = draw(&d, p.crashes, time.Millisecond, 2*p.ttl, p.horizon)
		for _, window := range n.down {
			events = append(events, w.crash(n, window, &d)...)
		}
		for range p.steps {
			step := d.between(-100*time.Millisecond, 100*time.Millisecond)
			events = append(events, event{d.between(0, p.horizon), n, func(t time.Duration) string { return n.step(t, step, false) }})
		}
		for range p.flushes {
			events = append(events, event{d.between(0, p.horizon), n, func(time.Duration) string {
				n.store.ForgetScripts()
				return "scripts flushed"
			}})
		}
	}
	events = append(events, w.breaks(&d)...)
	for _, c := range w.clients {
		c.pauses = draw(&d, p.pauses, time.Millisecond, p.ttl+p.ttl/2, p.horizon)
		for _, l := range c.links {
			l.out = draw(&d, p.cuts, 5*time.Millisecond, 2*p.ttl, p.horizon)
			l.back = draw(&d, p.cuts, 5*time.Millisecond, 2*p.ttl, p.horizon)
		}
	}
	if w.scenario.Late {
		events = append(events, w.breaksLate(&d)...)
	}
	slices.SortStableFunc(events, func(a, b event) int { return int(a.at - b.at) })
	return events
}

// memory is what a node has when it is back.
type memory int

const (
	kept memory = iota
	lost
	older
)

// crash is a node that goes, and comes back with its memory, without, or with that of some time before. It loses something
// only if that keeps A1, and, where locks are fenced, if it stays away for as long as a fence asks for.
func (w *world) crash(n *master, away window, d *dice) []event {
	what := memory(d.below(3))
	if w.plan.fenced && away.to-away.from < fenceAbsence {
		what = kept
	}
	save := away.from - d.between(0, w.plan.ttl)
	events := []event{{away.from, n, func(t time.Duration) string {
		switch {
		case what == kept:
			n.store.ForgetScripts()
		case !w.check.mayForget(n, t):
			n.store.ForgetScripts()
			w.verdict.Spared++
		case what == lost || n.saved == nil:
			w.check.forgets(n, t)
			n.store.Forget()
			w.verdict.Forgot++
			return "crash, forgets all"
		default:
			w.check.forgets(n, t)
			n.store, n.old = n.saved, true
			n.saved = nil
			w.verdict.Forgot++
			return "crash, goes back"
		}
		return "crash"
	}}, {away.to, n, func(time.Duration) string { return "back" }}}
	if what == older && save > 0 {
		events = append(events, event{save, n, func(time.Duration) string {
			n.saved = n.store.Clone()
			n.saved.ForgetScripts()
			return "saves"
		}})
	}
	return events
}

// fenceAbsence is how long a node that lost its counters has to stay away for fences to rise by the nodes' time alone: twice the 250
// ms by which a seed may be ahead, and by what the clocks differ.
const fenceAbsence = 500*time.Millisecond + 2*(20*time.Millisecond+200*time.Millisecond)

// step puts the node's clock to another time. Ahead it costs keys a part of their life, so that is only done where A1 allows it, or
// is to be broken.
func (n *master) step(t, by time.Duration, breaks bool) string {
	w := n.world
	if by > 0 && !breaks && !w.check.mayForget(n, t) {
		w.verdict.Spared++
		return ""
	}
	if by > 0 {
		w.check.forgets(n, t)
	}
	n.ahead += by
	n.store.SetOffset(n.ahead)
	w.verdict.Steps++
	return fmt.Sprintf("clock %+v", by.Round(time.Millisecond))
}

// breaks is what breaks an assumption. Two nodes are away, so that a lock is on a bare majority, and are back when one of that
// forgets, or has lied all the time.
func (w *world) breaks(d *dice) (events []event) {
	s, p := w.scenario, w.plan
	if s.Forget || s.Step || s.Lie {
		back := d.between(50*time.Millisecond, p.ttl/4)
		for _, n := range w.nodes[3:] {
			n.hung, n.down = nil, windows{{0, back}}
		}
		n := w.nodes[d.below(3)]
		n.hung, n.down = nil, nil
		n.liar = s.Lie
		switch {
		case s.Forget:
			away := window{back, back + fenceAbsence}
			n.down = windows{away}
			events = append(events, event{away.from, n, n.forgets})
		case s.Step:
			events = append(events, event{back, n, func(t time.Duration) string { return n.step(t, p.ttl, true) }})
		}
	}
	if s.Fast {
		for _, n := range w.nodes[:3] {
			n.ppm = 83_000
		}
	}
	return events
}

// breaksLate is what takes a lock from its holder and leaves it with a majority all the same: it has it on three nodes, one of which
// forgets it, and stands still while others have it on that one and the other two; and then what it once sent to these comes after all.
func (w *world) breaksLate(d *dice) (events []event) {
	holder := w.clients[0]
	begin := d.between(w.plan.ttl/8, w.plan.ttl/6) // by then it has asked
	away := window{begin, begin + fenceAbsence}
	late := window{0, away.to + d.between(w.plan.ttl/20, w.plan.ttl/5)}
	for i, n := range w.nodes {
		n.hung, n.down = nil, nil
		holder.links[i].out, holder.links[i].back = nil, nil
		if i > 2 {
			holder.links[i].out = windows{late}
		}
	}
	holder.pauses = windows{{begin, late.to + 20*time.Millisecond}}
	for _, c := range w.clients[1:] {
		c.pauses = windows{{0, begin}}
	}
	n := w.nodes[d.below(3)]
	n.down = windows{away}
	return append(events, event{away.from, n, n.forgets})
}

// forgets is a crash that costs a node all it carries, whatever may be lost by that.
func (n *master) forgets(t time.Duration) string {
	w := n.world
	w.check.forgets(n, t)
	n.store.Forget()
	w.verdict.Forgot++
	return "crash, forgets all"
}

// befall has the events happen, one after the other.
func (w *world) befall(events []event) {
	for _, e := range events {
		w.sleepUntil(e.at)
		w.mu.Lock()
		text := e.do(e.at)
		w.mu.Unlock()
		if w.trace != nil && text != "" {
			w.trace.fate(e.at, e.node, text)
		}
	}
}
