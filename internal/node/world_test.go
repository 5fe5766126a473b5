package node

import (
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

const worldTTL = 300 * ms

// life is a kind of attempt.
type life struct {
	keys   []any
	from   any
	end    Ending
	strict bool // the node does not know the scripts at first
	held   bool // once granted it is extended and repaired
	again  bool // it is not repaired, but asked for once more
	handed bool // who gives it up names who comes next
}

// world is one claim on one node: all that can befall it, what is true on the node, and what this side knows of it.
type world struct {
	*rig
	life
	draw     *choices
	attempt  Attempt
	troubles int // batches whose fate is still chosen; all later ones fare well

	mu    sync.Mutex // protects what follows
	wrong string

	// What is true.
	store    *store
	greedy   bool // another takes the keys as soon as we are off them
	onWay    int  // SETs of ours that will arrive late
	late     bool // there was one
	set      bool // a SET of ours was applied
	refused  bool // one was refused
	setSent  bool
	released bool // a release of ours gave the keys up
	lost     bool // the node forgot keys of ours
	extended bool // an Extend found all of them, and armed them
	repaired bool // a repair ran, and was not refused

	// What came back to this side.
	setBack, setGranted, setFailed, setUnknown bool
	relSent, relNumber                         bool // a release was sent after the SETs' fates were known; a number came back for it
	votes, answers, gaveUp                     int
	hands                                      int // that were told what became of them
	asked, heard, repairs                      int // Extends, the answers to them, and those to repairs
}

// holds tells whether the node has our token, but for what we left there on purpose.
func (w *world) holds() bool {
	return slices.ContainsFunc(w.keys, func(key any) bool {
		return w.store.holder(key) == "1" && !w.store.keys[key.(string)].left
	})
}

// mayHold is the oracle: the node has our token, or will get it.
func (w *world) mayHold() bool { return w.onWay > 0 || w.holds() }

// settled tells that this side can know that nothing of ours is there.
func (w *world) settled() bool {
	switch {
	case !w.setBack, w.setUnknown:
		return false
	case w.setGranted:
		return w.relNumber
	case w.setFailed, w.from != nil && w.end == Delete: // the node may have the token that was to be taken over
		return w.relSent
	}
	return true
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
	gone := a == quorum.Absent || a == quorum.Foreign
	w.claim(!w.released || !gone || w.lost || w.end == Leave, "we deleted it, and the answer says it was lost")
	w.claim(a != quorum.Clear || !w.set || w.released || w.gaveUp > 1 || w.refused, "clear, and it was set")
}

// giveUp submits a release.
func (w *world) giveUp(withdraw bool) {
	w.mu.Lock()
	w.gaveUp++
	w.mu.Unlock()
	now := w.clock.Now()
	if w.gaveUp == 1 {
		w.attempt.End, w.attempt.Until = w.end, now+2*worldTTL
	}
	var hands []*Hand
	if w.handed {
		hands = []*Hand{{Node: 0, Channels: "~w:", Lists: []any{"~q:k"}, Heard: func([]any) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.hands++
		}}}
	}
	w.Release(&w.attempt, w, withdraw, now, now+patience, hands)
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
	if w.troubles > 0 && (!w.held || w.draw.pick(2) == 0) { // a lock that is held must live to see troubles later
		w.troubles--
		sent = len(b.cmds) - w.draw.pick(len(b.cmds)+1)
		ran = sent - w.draw.pick(sent+1)
		heard = ran - w.draw.pick(ran+1)
		failing = ran - 1 - w.draw.pick(ran+1)
		if heard == 0 && w.draw.pick(2) == 1 {
			w.wait(nodeTimeout) // it hung, rather than broke
		}
	}
	// Bytes that come late and releases that are answered by errors would together leave a key that nobody can be blamed for.
	if failing >= 0 && w.late && !sets(b.cmds[failing].args) {
		failing = -1
	}
	for i, c := range b.cmds {
		switch {
		case c.args[0] != "ping" && c.args[1] != "x":
			w.command(c, i < sent, i < ran, i < heard, i == failing)
		case i < heard: // a probe, or what was to keep the node busy
			granted(c)
		}
	}
	b.back <- map[bool]error{true: errReset}[heard < len(b.cmds)]
}

// command is what becomes of one of our commands.
func (w *world) command(c *Command, sent, ran, heard, fails bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	isSet, asks := sets(c.args), hashOf(c.args) == extendScript.hash
	w.setBack = w.setBack || isSet
	if !sent {
		return
	}
	args := c.Args()
	if isSet {
		w.setSent = true
	} else if w.setBack && !asks {
		w.relSent = true
	}
	if !ran {
		if isSet {
			w.setUnknown = true
			w.arriveLate(args)
		}
		return
	}
	answer, v := readOnly, any(nil)
	if !fails {
		answer, v = w.run(args)
	}
	if !heard {
		w.setUnknown = w.setUnknown || isSet
		return
	}
	answer(c)
	if list, ok := v.([]any); ok && hashOf(args) == handScript.hash {
		v = list[0]
	}
	number := v == int64(1) || v == int64(0) || v == int64(-1)
	switch {
	case c.Err() == redis.ErrNoScript: //nolint:errorlint // the store's own
		w.setSent = w.setSent && !isSet // as good as never sent
		w.relSent = w.relSent && isSet
	case isSet && fails:
		w.setFailed = true
	case isSet && (v == "OK" || v == int64(1)):
		w.setGranted = true
	case isSet:
		w.setSent = false // as good as never sent
	case number && !asks:
		w.relNumber = true
	}
}

// run runs a command on the node, and tells what it says. The mutex is held.
func (w *world) run(args []any) (reply, any) {
	had := w.holds()
	answer := w.store.run(args)
	var said Command
	answer(&said)
	v, err := said.Result()
	switch hashOf(args) {
	case extendScript.hash:
		list, _ := v.([]any)
		w.extended = w.extended || len(list) == 2
	case repairScript.hash, againScript.hash:
		w.repaired = w.repaired || v == int64(1)
	}
	if sets(args) {
		w.set = w.set || v == "OK" || v == int64(1)
		w.refused = w.refused || err == redis.Nil || v == int64(0) //nolint:errorlint // the store's own
	}
	if had && !w.holds() {
		w.released = true
		w.grab()
	}
	return answer, v
}

// grab is how another takes what is free.
func (w *world) grab() {
	for _, key := range w.keys {
		if w.greedy && w.store.holder(key) == "" {
			w.store.keys[key.(string)] = entry{token: "another's", ends: time.Now().Add(time.Hour)}
		}
	}
}

// arriveLate lets the SET's bytes be read after all, up to one TTL later, or never.
func (w *world) arriveLate(args []any) {
	after := []time.Duration{0, 120 * ms, worldTTL - ms}[w.draw.pick(3)]
	if after == 0 {
		return
	}
	w.onWay++
	w.late = true
	time.AfterFunc(after, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.onWay--
		_, _ = w.run(args)
	})
}
