package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// pollEach is what each waiter in a queue adds to the time between two polls of one of them: all polls together stay below a
// hundred a second.
const pollEach = 10 * time.Millisecond

// queuer is the head of a line that waits for other processes: its spot in the queue on the canary. The zero value waits nowhere.
// Only its caller uses it, but for what the mutex protects.
type queuer struct {
	call    *call
	w       *waiter
	queue   *node.Queue
	node    int           // where it queues
	tries   int           // the attempts so far
	ear     *ear          // nil until it waits for the first time
	count   int           // how many waited there, as it was told last
	life    time.Duration // of who has the lock; negative: without an end, or not known
	toldAt  time.Duration // when that was told
	named   bool          // it was woken by a hint, and is no longer in the queue
	front   bool          // it belongs to the front of the queue: it was named in vain
	vain    bool          // it was named in vain once, and does not take a hint for the truth any more
	wasFree bool          // it was woken because the lock was said to be free
	late    bool          // it is to enter once the ear stands
	round   *round        // the last one; nil before there was one
	waited  bool          // it had to wait for somebody
	sight   *sight        // that the key was taken, if that is known since the last round
	rushed  bool          // the last round was lost since its votes were split, and not all of them waited for
	ending  bool          // the last pause was cut short since who has the lock was about to lose it

	mu      sync.Mutex // protects what follows
	in      bool       // it may be in the queue
	entered int        // how often it entered, less what is known to have ended: it may be in the queue while that is above 0
	hinted  bool       // a hint came
	hints   followed
	free    bool // the lock was found free
	always  bool // it entered, or is about to, even if the lock is free
}

// Heard takes in what the canary said of the queue; the lanes call it.
func (q *queuer) Heard(i int, r *node.Reply, at time.Duration) {
	c := q.call.core
	spot, err := readSpot(r)
	q.mu.Lock()
	switch {
	case r.Err != nil: // it may have entered all the same
	case err != nil:
		q.out()
	case spot == nil: // but where it entered before, it is in there
		q.free = !q.always // whom it cannot be said to, it is said by a canary that lies, and would be for ever
		q.out()
	default:
		if !spot.fresh {
			q.out() // it was in there already
		}
		q.count, q.life, q.toldAt = spot.count, spot.life, at
	}
	q.mu.Unlock()
	if err != nil {
		c.troubled(i, err)
	}
	q.w.notify()
}

// enter puts the caller into the queue of the key that refused the last round, if its ear there is open; it does not wait for the
// answer.
func (q *queuer) enter(r *round, always bool) {
	c := q.call.core
	q.round, q.waited = r, true
	if c.listeners == nil {
		return
	}
	key := q.call.blocker(r)
	if at := c.canary(key); q.ear == nil || q.node != at || q.queue.Key != key {
		q.end(false)
		q.queue, q.node, q.ear = c.queueOf(key), at, c.ears.open(c, at)
	}
	if q.late = false; q.ear == nil {
		return // the Locker is closed, which pause comes to know
	}
	q.ear.await(q.queue.List.(string), q)
	q.front, q.vain, q.named = q.front || q.named, q.vain || q.named, false
	q.late = !q.ear.stands()
	if q.late {
		return // what is published now would not be heard: once it stands pause comes here again
	}
	q.mu.Lock()
	q.in, q.free, q.life = true, false, -1
	q.entered++
	// A canary that lost the key says "free" for as long as somebody has the lock on the others: once is enough to believe it.
	q.always = always || q.wasFree
	always = q.always
	q.mu.Unlock()
	now := c.clock.Now()
	c.group.Enqueue(q.node, q.queue, q.front, always, q, now, now+c.nodeTimeout)
	q.front = false
}

// out notes that one entering has ended. The mutex is held.
func (q *queuer) out() {
	q.entered = max(q.entered-1, 0)
	q.in = q.entered > 0
}

// await waits in the queue, after a round that was lost, or where no round could be won, until it is worth asking.
func (q *queuer) await(ctx context.Context, lost *round) error {
	last, brief := taken, time.Duration(0) // what the poll before saw, and after how long this one follows on it, if it does so closely
	for {
		if brief == 0 {
			q.enter(lost, q.queued()) // who is in it already is told of a release, and need not believe that the key is free
		}
		polls, err := q.pause(ctx, brief, last == nearly)
		if err == nil && lost != nil && lost.failure(q.call.op).barred() {
			err = errLostRound // it shows in votes for which the verdict did not wait
		}
		if err != nil || !polls || q.ear == nil || q.call.terms.maxAttempts > 0 {
			return err // who counts attempts wants them made
		}
		began := q.call.core.clock.Now()
		seen, err := q.call.see(ctx, q.queue.Key, q.node)
		if err != nil {
			return err
		}
		now := seen.outlook(q.node)
		if now == unknown || now == free && (last == free || !q.queued()) || now == nearly && last == nearly && brief == 0 {
			return nil // what it may have been waiting for is over
		}
		if brief = 0; now == free || now == nearly && last != nearly {
			brief = q.call.core.yield(q.call.core.clock.Now()-began, q.call.terms)
		}
		if last = now; now == taken {
			q.tries++
			q.sight = seen
			q.call.reportSight(ctx, seen, q.tries, began)
		}
	}
}

// queued tells whether the caller may be in the queue.
func (q *queuer) queued() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.in
}

// pause waits until it is worth asking again: a hint, news that the lock is free, a release in this process, or the poll, which it
// tells. It never outlasts ctx, nor, by more than it takes to ask, the life of who has the lock. It is brief
// where the last poll saw what may be over in a moment, and the shortest of polls where that has not come about: with the one before
// it, and what both take to ask, it stays within two of the longest.
func (q *queuer) pause(ctx context.Context, brief time.Duration, soon bool) (polls bool, err error) {
	c := q.call.core
	random := c.chance()
	start := c.clock.Now()
	again := q.ending // who said so before was wrong, or lies
	q.ending = q.ending && brief > 0
	for {
		if q.late && q.ear.stands() {
			q.enter(q.round, false)
		}
		q.mu.Lock()
		named, free := q.hinted, q.free
		q.hinted, q.free = false, false
		low, high := q.bounds(start, brief, soon, again)
		q.mu.Unlock()
		q.named, q.wasFree = named, free
		if named || free {
			return false, nil
		}
		left := start + quorum.Backoff(low, high, random) - c.clock.Now()
		if left <= 0 {
			return true, nil
		}
		over, stop := c.after(left)
		select {
		case <-over:
		case <-q.w.wake:
			stop()
			if c.lines.freed(q.w) {
				return false, nil
			}
		case <-ctx.Done():
			stop()
			return false, ctx.Err()
		case <-c.gate.shut:
			stop()
			return false, ErrClosed
		}
	}
}

// bounds are the least and the most that a pause is long which began at start. The mutex is held.
func (q *queuer) bounds(start, brief time.Duration, soon, again bool) (low, high time.Duration) {
	low, high = q.call.terms.backoffMin, q.call.terms.backoffMax
	if each := time.Duration(q.count) * pollEach; q.in && each > high {
		low, high = each/2, each
	}
	switch {
	case brief > 0:
		low, high = brief, brief
	case soon:
		high = low
	}
	if !q.in || q.life < 0 {
		return low, high
	}
	// The life was cut to whole milliseconds: without one more the last would be a loop of questions.
	end := max(q.toldAt+q.life+time.Millisecond-start, 0)
	if brief == 0 && end < low {
		q.ending = true
		if again {
			end = low
		}
	}
	return min(low, end), min(high, end)
}

// end takes the caller off the queue: it has the lock, or has given up. Who gave up passes on what it may have been told.
func (q *queuer) end(won bool) {
	if q.ear == nil {
		return
	}
	q.mu.Lock()
	in, hinted := q.in, q.hinted || q.named
	q.in, q.entered = false, 0
	q.mu.Unlock()
	if in || hinted && !won {
		c := q.call.core
		now := c.clock.Now()
		c.group.Quit(q.node, q.queue, !won, ignored{}, now, now+2*c.nodeTimeout)
	}
	q.ear.forget(q.queue.List.(string), q)
	q.call.core.ears.close(q.ear)
	q.ear = nil
}

// ignored hears what nobody waits for.
type ignored struct{}

// Heard does nothing.
func (ignored) Heard(int, *node.Reply, time.Duration) {}
