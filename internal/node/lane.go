package node

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxQueue     = 4096 // operations waiting for one node
	maxBatch     = 512  // operations in one pipeline: above that latency grows and throughput does not
	minBatch     = 16   // it is not for its length that a pipeline of so many is late
	maxDebtBatch = 128  // debts paid with one pipeline, so that a node that is back serves callers too; as many go along with SETs
)

// lane is the one path to a node.
type lane struct {
	index     int
	group     *Group
	transport Transport

	// departed is when the batch under way left, or never. It is read without the mutex by whoever looks for suspects.
	departed atomic.Int64

	mu      sync.Mutex // protects what follows
	queue   queue
	debts   debts
	shown   int // of them, as the Group's owner was told
	health  health
	alarm   *alarm        // nil while not set
	limit   int           // operations in one pipeline: less after one that the node did not manage within the timeout
	running bool          // the lane's goroutine exists
	pinging bool          // and all that is under way is a PING
	flight  time.Duration // the longest TTL of what is under way for callers
	closed  bool          // no SET is taken any more
	dead    bool          // no debt is made or paid any more
	idle    chan struct{} // closed once nothing is left to do; nil while nobody waits for that

	// Buffers of the lane's goroutine, of which there is never a second one.
	batch []*op
	late  []*op
	again []*op // those whose script the node did not know
	cmds  []*Command
}

// submit queues the operation, or says why it certainly will not be sent. The mutex is held.
func (n *lane) submit(o *op) error {
	switch {
	case n.closed && o.sets(), n.dead && o.kind == kindAsk && o.ask.question == askQueue:
		return ErrClosed
	case o.sets() && n.debts.len >= maxDebts:
		return ErrDebtsFull
	case n.queue.len >= maxQueue && (!n.closed || o.kind != kindRelease): // Close gives back all that is held, which is bounded
		return ErrQueueFull
	case n.health.suspect && !n.dead && n.group.quorate(): // nothing is owed by a dead lane, so waiting harms nobody
		return ErrSuspect
	}
	n.queue.pushBack(o)
	n.start()
	return nil
}

// start sees to it that the lane's goroutine exists. It ends by itself when nothing is left, and Group.Close waits for it.
// The mutex is held.
func (n *lane) start() {
	if !n.running {
		n.running = true
		go n.run()
	}
}

func (n *lane) run() {
	for {
		if settle := n.group.Settle; settle != nil {
			settle()
		}
		batch, late := n.next()
		switch {
		case len(batch) > 0:
			n.tell(late, time.Duration(n.departed.Load()))
			n.showDebts() // of late releases
			n.send(batch)
		case len(late) > 0:
			n.tell(late, n.group.clock.Now())
			n.showDebts()
		default:
			return
		}
		clear(late)
	}
}

// send makes one round trip and tells the listeners what came of it.
func (n *lane) send(batch []*op) {
	n.cmds = n.cmds[:0]
	for _, o := range batch {
		n.cmds = append(n.cmds, &o.Command)
	}
	err := n.transport.Exec(n.cmds)
	clear(n.cmds)
	if err == nil {
		err = errUnanswered
	}
	now := n.group.clock.Now()
	n.tell(n.settle(batch, err, now), now)
	n.showDebts()
	// Those who were just told go first: what they ask next leaves with the next pipeline instead of missing it.
	runtime.Gosched()
	clear(batch)
}

// next takes what is to be sent now, and what is too late to be sent. With neither, the goroutine is to end.
func (n *lane) next() (batch, late []*op) {
	now := n.group.clock.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.batch, n.late = n.batch[:0], n.late[:0]
	if n.health.suspect {
		n.takeProbe(now)
	} else {
		n.takeDue(now)
		n.takeQueued(now)
	}
	if len(n.batch) > 0 {
		n.departed.Store(int64(now))
	} else if len(n.late) == 0 {
		n.running = false
		n.rest(now)
		return nil, nil
	}
	return n.batch, n.late
}

// tell tells the listeners. The mutex is not held, and the operations are nobody else's any more.
func (n *lane) tell(ops []*op, now time.Duration) {
	for _, o := range ops {
		switch o.kind {
		case kindSet:
			o.claim.attempt.Voter.Voted(n.index, o.vote, now, o.cause)
		case kindRelease:
			if o.to != nil {
				o.to.Released(n.index, o.answer, o.mayHold, o.cause)
			}
			if o.hand != nil {
				o.hand.tell(o)
			}
		case kindRepair, kindAsk:
			o.ask.to.Heard(n.index, &o.ask.reply, now)
		case kindDebt, kindPing:
		}
	}
}
