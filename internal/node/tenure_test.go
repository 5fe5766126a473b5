package node

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// inquirer hears what comes of the questions that one life asks of its node.
type inquirer struct {
	*world
	repair bool
}

func (q *inquirer) Heard(node int, r *Reply, _ time.Duration) {
	if node > 0 {
		return
	}
	w := q.world
	w.mu.Lock()
	defer w.mu.Unlock()
	ran := w.extended
	if q.repair {
		w.repairs++
		ran = w.repaired
		w.claim(r.Confirmation != quorum.Gone || r.Foreign, "a repair that found nothing")
	} else {
		w.heard++
	}
	w.claim(r.Confirmation != quorum.Confirmed || ran, "confirmed, and it did not run")
	w.claim(!r.Sure || w.onWay == 0, "sure, and a SET is on its way")
	w.claim(r.Confirmation != quorum.Unconfirmed || r.Err != nil, "unconfirmed, and no word of why")
}

// forget lets the node lose keys that are ours: none, the last, or all.
func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range w.keys[len(w.keys)-w.draw.pick(len(w.keys)+1):] {
		if w.store.holder(key) == "1" {
			delete(w.store.keys, key.(string))
			w.lost = true
		}
	}
	if w.lost && w.draw.pick(2) == 1 {
		w.grab()
	}
}

func (w *world) extend() {
	w.asked++
	now := w.clock.Now()
	w.Extend(&w.attempt, 0, &inquirer{w, false}, now, now+patience)
}

func (w *world) repair() {
	if w.again {
		w.Again(&w.attempt, 0, &inquirer{w, true}, w.clock.Now()+patience)
		return
	}
	w.Repair(&w.attempt, 0, 0, &inquirer{w, true}, w.clock.Now()+patience)
}

// offered is the batch that leaves now, or nil.
func (w *world) offered() *batch {
	synctest.Wait()
	select {
	case b := <-w.nodes[0].batches:
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range b.cmds {
			w.claim(w.gaveUp == 0 || hashOf(c.args) != repairScript.hash && hashOf(c.args) != againScript.hash, "a repair left behind the release")
		}
		return b
	default:
		return nil
	}
}

// repairAndEnd repairs the lock and gives it up, in one of the orders there are, and returns what is left to do.
func (w *world) repairAndEnd() (then func()) {
	end := func() { w.giveUp(true) }
	switch w.draw.pick(4) {
	case 0:
		return end
	case 1: // it is queued
		w.ask("x", "other")
		busy := w.offered()
		w.repair()
		w.giveUp(w.draw.pick(2) == 1)
		if busy != nil {
			busy.end(nil, granted)
		}
	case 2: // it is under way
		w.repair()
		b := w.offered()
		end()
		if b != nil {
			w.fate(b)
		}
	default:
		w.repair()
		return end
	}
	return nil
}

// hold is one life of a lock that is held.
func (w *world) hold() {
	w.start()
	now := w.clock.Now()
	w.Ask(&w.attempt, All, now, now+patience)
	deeds := []func(){w.forget}
	if w.draw.pick(2) == 1 {
		deeds = append(deeds, w.extend)
	}
	if w.draw.pick(2) == 1 {
		deeds = append(deeds, func() { w.wait(worldTTL) }, w.extend)
	}
	deeds = append(deeds, func() {
		if then := w.repairAndEnd(); then != nil {
			deeds = append(deeds, then)
		}
	})
	for {
		w.check()
		if b := w.offered(); b != nil {
			w.fate(b)
			continue
		}
		if len(deeds) > 0 {
			next := deeds[0]
			deeds = deeds[1:]
			next()
			continue
		}
		select {
		case b := <-w.nodes[0].batches:
			w.fate(b)
		case <-time.After(2 * ttl):
			return
		}
	}
}

var tenures = map[string]life{
	"plain":        {keys: []any{"k"}, held: true},
	"several keys": {keys: []any{"j", "k"}, held: true},
	"left":         {keys: []any{"k"}, held: true, end: Leave},
	"resumed":      {keys: []any{"k"}, held: true, from: "0"},
	"taken over":   {keys: []any{"k"}, held: true, from: "0", end: Restore},

	"asked again":               {keys: []any{"k"}, held: true, again: true},
	"several keys, asked again": {keys: []any{"j", "k"}, held: true, again: true},
	"handed on":                 {keys: []any{"k"}, held: true, handed: true},
}

func TestWhateverBefallsAHeldLockNothingOfItStaysAndNothingUntrueIsSaid(t *testing.T) {
	t.Parallel()
	inAllLives(t, tenures, func() *choices { return new(choices) }, (*world).hold, 1)
}

// With more troubles there are too many lives to play them all.
func TestWhateverBefallsAHeldLockAgainAndAgainNothingOfItStays(t *testing.T) {
	t.Parallel()
	draw := func() *choices { return &choices{dice: rand.New(rand.NewPCG(rand.Uint64(), 0)), left: 600} }
	inAllLives(t, tenures, draw, (*world).hold, 3)
}
