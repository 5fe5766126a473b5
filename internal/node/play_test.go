package node

import (
	"time"
)

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
	w.start()
	moment, again := w.draw.pick(moments), w.draw.pick(2) == 1
	now := w.clock.Now()
	w.ask("x", "other")
	busy, _ := w.next(0)
	w.Ask(&w.attempt, All, now, now+patience)
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

// start makes the node and the attempt, for keys that are free, the giver's where it takes over, or in part another's.
func (w *world) start() {
	w.store = knowing()
	if w.strict {
		w.store = newStore()
	}
	hold := func(key any, token string) {
		w.store.keys[key.(string)] = entry{token: token, ends: time.Now().Add(time.Hour)}
	}
	for _, key := range w.keys {
		if w.from != nil {
			hold(key, w.from.(string))
		}
	}
	if w.draw.pick(2) == 1 {
		hold(w.keys[len(w.keys)-1], "another's")
	}
	w.attempt = Attempt{
		Keys: w.keys, From: w.from, Token: "1", TTL: worldTTL, TTLMillis: worldTTL.Milliseconds(), Voter: w,
	}
}
