package node

import (
	"sync"
	"testing/synctest"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

const worldTTL = 300 * ms

// world is one claim on one node: all that can befall it, what is true on the node, and what this side knows of it.
type world struct {
	*rig
	draw     *choices
	attempt  Attempt
	troubles int // batches whose fate is still chosen; all later ones fare well

	mu    sync.Mutex // protects what follows
	wrong string

	// What is true.
	store    *store
	greedy   bool // another takes the key as soon as we are off it
	onWay    int  // SETs of ours that will arrive late
	set      bool // our SET was applied
	refused  bool // our SET was refused
	setSent  bool
	released bool // a release of ours deleted the key

	// What came back to this side.
	setBack, setGranted, setFailed bool
	relSent, relNumber             bool // a release was sent after the SET's fate was known; a number came back for it
	votes, answers, gaveUp         int
}

// mayHold is the oracle: the node has our token, or will get it.
func (w *world) mayHold() bool { return w.onWay > 0 || w.store.holder("k") == "1" }

// settled tells that this side can know that nothing of ours is there.
func (w *world) settled() bool {
	switch {
	case !w.setBack:
		return false
	case w.setGranted:
		return w.relNumber
	case w.setFailed:
		return w.relSent
	}
	return !w.setSent
}

func (w *world) claim(ok bool, what string) {
	if !ok && w.wrong == "" {
		w.wrong = what
	}
}

func (w *world) Voted(node int, v quorum.Vote, _ time.Duration, _ error) {
	if node > 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.votes++
	switch v {
	case quorum.Granted:
		w.claim(w.set, "granted, and it was not")
	case quorum.Refused:
		w.claim(w.refused, "refused, and it was not")
	case quorum.Unsent:
		w.claim(!w.setSent && !w.mayHold(), "unsent, and it was sent")
	default:
		w.claim(v == quorum.Unknown, "no vote")
	}
}

func (w *world) Released(node int, a quorum.Answer, mayHold bool, _ error) {
	if node > 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers++
	w.claim(mayHold || !w.mayHold(), "released, and the token may be there")
	w.claim(!w.released || a != quorum.Absent && a != quorum.Foreign, "we deleted it, and the answer says it was lost")
	w.claim(a != quorum.Clear || !w.set || w.released || w.gaveUp > 1, "clear, and it was set")
}

// giveUp submits a release.
func (w *world) giveUp(withdraw bool) {
	w.mu.Lock()
	w.gaveUp++
	w.mu.Unlock()
	now := w.clock.Now()
	w.Release(&w.attempt, w, withdraw, now, now+patience)
}

// check holds what this side believes against what is true, between two steps.
func (w *world) check() {
	synctest.Wait()
	n := w.lanes[0]
	n.mu.Lock()
	defer n.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.settled() {
		w.claim(n.debts.len == 0, "a debt, and nothing can be there")
	}
	if w.gaveUp > 0 && n.resting() {
		w.claim(!w.mayHold(), "at rest, and the token may be there")
	}
}

// fate lets a batch be sent, run and heard of as far as it goes, with one error reply or none.
func (w *world) fate(b *batch) {
	sent := len(b.cmds)
	ran, heard, failing := sent, sent, -1
	if w.troubles > 0 {
		w.troubles--
		sent = len(b.cmds) - w.draw.pick(len(b.cmds)+1)
		ran = sent - w.draw.pick(sent+1)
		heard = ran - w.draw.pick(ran+1)
		failing = ran - 1 - w.draw.pick(ran+1)
		if heard == 0 && w.draw.pick(2) == 1 {
			w.wait(nodeTimeout) // it hung, rather than broke
		}
	}
	for i, c := range b.cmds {
		if c.args[0] != "ping" {
			w.command(c, i < sent, i < ran, i < heard, i == failing)
		} else if i < heard {
			pong(c)
		}
	}
	b.back <- map[bool]error{true: errReset}[heard < len(b.cmds)]
}

// command is what becomes of one of our commands.
func (w *world) command(c *Command, sent, ran, heard, fails bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	isSet := c.args[0] == "set"
	if isSet {
		w.setBack = true
	}
	if !sent {
		return
	}
	args := c.Args()
	if isSet {
		w.setSent = true
	} else if w.setBack {
		w.relSent = true
	}
	answer := readOnly
	switch {
	case !ran:
		if isSet {
			w.arriveLate(args)
		}
		return
	case !fails:
		had := w.store.holder("k") == "1"
		answer = w.store.run(args)
		has := w.store.holder("k") == "1"
		w.set = w.set || has
		w.refused = w.refused || isSet && !has
		w.released = w.released || had && !has
		if had && !has && w.greedy {
			w.store.keys["k"] = entry{"another's", time.Now().Add(time.Hour)}
		}
	}
	if !heard {
		return
	}
	answer(c)
	switch {
	case isSet && fails:
		w.setFailed = true
	case isSet && w.refused:
		w.setSent = false // as good as never sent
	case isSet:
		w.setGranted = true
	case !fails:
		w.relNumber = true
	}
}

// arriveLate lets the SET's bytes be read after all, up to one TTL later, or never.
func (w *world) arriveLate(args []any) {
	after := []time.Duration{0, 120 * ms, worldTTL - ms}[w.draw.pick(3)]
	if after == 0 {
		return
	}
	w.onWay++
	time.AfterFunc(after, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.onWay--
		w.store.run(args)
		w.set = w.set || w.store.holder("k") == "1"
	})
}

// When the claim is given up.
const (
	whileQueued = iota
	whileQueuedWithdrawing
	whileFlying
	whenAnswered
	moments
)

// play is one life of the claim.
func (w *world) play() {
	w.store.script = true
	if w.draw.pick(2) == 1 {
		w.store.keys["k"] = entry{"another's", time.Now().Add(time.Hour)}
	}
	moment, again := w.draw.pick(moments), w.draw.pick(2) == 1
	w.attempt = Attempt{Key: "k", Token: "1", TTL: worldTTL, TTLMillis: worldTTL.Milliseconds(), Voter: w}
	now := w.clock.Now()
	w.ask("x", "other")
	busy, _ := w.next(0)
	w.Ask(&w.attempt, now, now+patience)
	if moment <= whileQueuedWithdrawing {
		w.giveUp(moment == whileQueuedWithdrawing)
	}
	busy.end(nil, granted)
	for {
		w.check()
		select {
		case b := <-w.nodes[0].batches:
			if moment == whileFlying && w.gaveUp == 0 {
				w.giveUp(true)
			}
			w.fate(b)
		case <-time.After(2 * ttl):
			return
		}
		w.check()
		if moment == whenAnswered && w.gaveUp == 0 || again && w.gaveUp == 1 {
			w.giveUp(true)
		}
	}
}
