package redlock

import (
	"context"
	"time"
)

// Unlock gives the lock back on every node. It is detached from ctx's cancellation, so that a deferred Unlock works after
// the request it served is over, and it returns within twice the node timeout. ctx's values reach the hooks.
//
// nil: the lock was held until now, and fewer than a quorum of the nodes may still carry it. ErrLost: it was lost before the
// first Unlock began, or somebody else may have had it meanwhile; it is given back all the same. ErrNoQuorum, in a *QuorumError
// that names the nodes: too few nodes confirmed; each may keep the key until its TTL, Unlock may be called again, and the
// library goes on trying by itself. ErrUnlocked, without asking a node: it was given up before, by Unlock, Leave or Detach. Of
// several calls at once one succeeds and the others wait for it.
func (k *Lock) Unlock(ctx context.Context) error {
	return k.giveUp(ctx, byUnlock, func(now time.Duration) error { return k.release(now) })
}

// giveUp runs f, which gives the lock up in one way, unless it was given up already. While another call does so in the same
// way, it waits for that.
func (k *Lock) giveUp(ctx context.Context, w ending, f func(now time.Duration) error) error {
	switch {
	case k.none():
		return ErrUnlocked
	case ctx == nil:
		return invalid("context is nil")
	}
	now := k.round().core.clock.Now()
	others, end := k.begin(w, now)
	switch {
	case others != nil:
		<-others // cannot be for long: it is bounded, and the end of it is ours too
		return k.echo()
	case end != nil:
		return end
	}
	err := f(now)
	k.end(err)
	k.tellReleased(ctx, err)
	return err
}

// begin ends the lock, for a call that gives it up. It tells what later calls are told if there was one before, or else what to
// wait for if another is under way.
func (k *Lock) begin(w ending, now time.Duration) (others <-chan struct{}, end error) {
	_ = k.state(now) // it looks at the clock first
	k.mu.Lock()
	switch {
	case k.final != nil:
		defer k.mu.Unlock()
		return nil, k.final
	case k.way != notYet && k.way != w, w != byUnlock && isLost(k.over):
		defer k.mu.Unlock()
		return nil, k.over // which of the ways came first is no longer to be changed
	case k.giving:
		defer k.mu.Unlock()
		if k.others == nil {
			k.others = make(chan struct{})
		}
		return k.others, nil
	}
	heirs := k.choose(w)
	k.giving = true
	k.mu.Unlock()
	k.followUp(ErrUnlocked, heirs)
	return nil, nil
}

// choose chooses the way in which the lock is given up, and ends it in the same step, so that nobody can choose another. The mutex is
// held; followUp comes next.
func (k *Lock) choose(w ending) (heirs map[*heir]struct{}) {
	if k.way == notYet {
		k.way, k.overdue = w, isLost(k.over) // which was said then, and is not taken back
	}
	return k.settle(ErrUnlocked)
}

func (k *Lock) end(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last, k.giving = err, false
	switch {
	case err == nil:
		k.final = ErrUnlocked
	case isLost(err):
		k.final = err
	}
	if k.others != nil {
		close(k.others)
		k.others = nil
	}
}

// echo is what a call returns that waited for another one.
func (k *Lock) echo() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.final != nil {
		return k.final
	}
	return k.last
}

// Detach gives the handle up and leaves the lock as it is on the nodes, for [Locker.Resume] elsewhere, which needs what it
// returns: the token, which nothing else shows. It is "" where the lock was not held any more. The lock goes on until its TTL,
// and nobody extends it until it is resumed.
func (k *Lock) Detach() string {
	if k.none() {
		return ""
	}
	r := k.round()
	if others, end := k.begin(byDetach, r.core.clock.Now()); others != nil || end != nil {
		return ""
	}
	r.core.group.Abandon(&r.bid)
	k.end(nil)
	return r.bid.Token.(string)
}

// shutDown gives the lock back for a Close, which waits for it by other means. An Unlock that comes later hears how it went.
func (k *Lock) shutDown(now time.Duration) {
	_ = k.state(now) // it looks at the clock first
	k.mu.Lock()
	if k.over != nil {
		k.mu.Unlock()
		return
	}
	heirs := k.choose(byUnlock)
	k.mu.Unlock()
	k.followUp(ErrUnlocked, heirs)
	r := k.round()
	r.core.group.Release(&r.bid, nil, true, now, now+2*r.core.nodeTimeout, r.hands())
}
