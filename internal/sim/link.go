package sim

import (
	"errors"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/sim/store"
)

var (
	errRefused = errors.New("connect: connection refused")
	errReset   = errors.New("read: connection reset by peer")
	errSilence = errors.New("read: i/o timeout")
)

const never = time.Duration(1<<63 - 1)

// link is the way of one client to one node: its connections, one after the other. The lane makes one call at a time, so the dice
// are thrown in a fixed order.
type link struct {
	client *client
	node   *master
	dice   dice
	slot   time.Duration
	heard  chan []answer
	out    windows // packets to the node are dropped
	back   windows // and from it
	slow   time.Duration

	sharing sync.Mutex // of the dice, in the full stack, where a client may have several connections to a node
}

// passage is what becomes of one batch. It is known when it leaves: what befalls nodes and links is drawn before a schedule begins.
type passage struct {
	departs time.Duration // its bytes leave
	refused bool          // they do not: there is no connection to be had
	arrives time.Duration // the node runs it, or never
	twice   time.Duration // and once more, or never: somebody in between sent it again
	seen    time.Duration // the client hears what became of it
	err     error         // nil: the answers
	failing bool          // the node runs it and answers with errors
}

// Exec carries a batch as the passage says.
func (l *link) Exec(batch []*node.Command) error {
	w := l.client.world
	p := l.passage(w.now())
	w.sleepUntil(p.departs)
	if p.refused {
		w.sleepUntil(p.seen)
		return p.err
	}
	requests := make([][]any, len(batch))
	for i, c := range batch {
		requests[i] = c.Args()
	}
	var answers []answer
	switch {
	case p.arrives < p.seen:
		w.sleepUntil(p.arrives)
		w.requests <- request{l.node, p.arrives, l.client, requests, l.heard}
		answers = <-l.heard
	case p.arrives != never:
		l.later(p.arrives, requests)
	}
	if p.twice != never {
		l.later(p.twice, requests)
	}
	w.sleepUntil(p.seen)
	if p.err != nil {
		w.count(&w.verdict.LostReplies)
		return p.err
	}
	for i, c := range batch {
		if p.failing {
			answers[i] = answer{nil, store.Error("ERR background error, the answer is lost")}
		}
		c.SetVal(answers[i].val)
		c.SetErr(answers[i].err)
	}
	return nil
}

// later has a batch run by the node, for nobody to hear of.
func (l *link) later(at time.Duration, requests [][]any) {
	w := l.client.world
	time.AfterFunc(at-w.now(), func() { w.requests <- request{l.node, at, l.client, requests, nil} })
}

// passage draws what becomes of a batch that is to leave now.
func (l *link) passage(now time.Duration) passage {
	p := l.draw(now)
	for _, t := range []*time.Duration{&p.arrives, &p.twice, &p.seen} {
		if *t != never {
			*t = *t&^0xff + 0x100 + l.slot // no two links ever do something at one instant
		}
	}
	return p
}

func (l *link) draw(now time.Duration) (p passage) {
	d, c, n := &l.dice, l.client, l.node
	w := c.world
	p.departs, p.arrives, p.twice, p.seen = c.departs(now, d), never, never, never
	out, back := l.trip(), l.trip()
	silence := c.awake(p.departs+unrated(c.timeout, c.ppm)+d.between(1, time.Microsecond), d)
	if _, down := n.down.at(p.departs + out); down && d.often(700) {
		p.refused, p.seen, p.err = true, c.awake(p.departs+out+back, d), errRefused
		return p
	}
	arrives := n.wakes(p.departs + out)
	crash, crashes := n.down.begin(p.departs, arrives)
	_, down := n.down.at(arrives)
	_, cut := l.out.at(p.departs)
	switch {
	case crashes:
		l.hears(&p, crash.from+back, errReset, silence)
		return p
	case down:
		l.hears(&p, arrives+back, errReset, silence)
		return p
	case cut || l.often(now, w.plan.lossy):
		l.hears(&p, never, nil, silence)
		if d.often(500) { // the bytes outlive their connection, and may come in behind those of the next
			p.arrives = l.whenHealed(p.departs + d.between(0, 2*c.timeout))
		}
		return p
	}
	p.arrives, p.failing = arrives, l.often(now, w.plan.failing)
	if l.often(now, w.plan.doubling) {
		p.twice = l.whenHealed(arrives + d.between(0, w.plan.ttl))
	}
	crash, crashes = n.down.begin(arrives, arrives+back)
	_, cut = l.back.at(arrives)
	switch {
	case crashes:
		l.hears(&p, crash.from+back, errReset, silence)
	case cut || l.often(now, w.plan.lossy):
		l.hears(&p, never, nil, silence)
	default:
		l.hears(&p, arrives+back, nil, silence)
	}
	return p
}

// hears sets when the client hears of the batch, and what: an answer or a failure that is there at a time, or silence. A client that
// was paused finds both when it goes on, and may look at either first.
func (l *link) hears(p *passage, at time.Duration, err error, silence time.Duration) {
	if at != never {
		at = l.client.awake(at, &l.dice)
	}
	if at < silence || at != never && at-silence < time.Millisecond && l.dice.often(500) {
		p.seen, p.err = at, err
		return
	}
	p.seen, p.err = silence, errSilence
}

// whenHealed is when bytes arrive that are sent again until they do: not while nothing gets through. Where that is while the node is
// not there they are gone.
func (l *link) whenHealed(t time.Duration) time.Duration {
	if w, cut := l.out.at(t); cut {
		t = w.to + l.dice.between(0, 10*time.Millisecond)
	}
	t = l.node.wakes(t)
	if _, down := l.node.down.at(t); down {
		return never
	}
	return t
}

// often is true in so many of a thousand cases, while there are faults.
func (l *link) often(now time.Duration, permille int) bool {
	return now < l.client.world.plan.horizon && l.dice.often(permille)
}

// trip is how long a packet takes.
func (l *link) trip() time.Duration {
	d := &l.dice
	if d.often(20) {
		return d.between(50*time.Microsecond, l.client.timeout)
	}
	return d.between(50*time.Microsecond, 50*time.Microsecond+l.slow)
}
