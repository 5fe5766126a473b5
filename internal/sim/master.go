package sim

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/internal/sim/store"
)

// master is a node: what it keeps, a clock of its own, and when it does not answer.
type master struct {
	world *world
	index int
	ppm   int64         // its clock's rate
	skew  time.Duration // and by how much that is ahead at the start
	hung  windows       // it is stopped: what arrives meanwhile it does when it wakes
	down  windows       // it is not there: connections are reset, and refused until it is back
	liar  bool          // it grants everybody everything

	store *store.Store // the world's mutex guards which one it is: a restart may bring an older one
	saved *store.Store
	ahead time.Duration // by the steps of its clock
	old   bool          // it came back with older data once, and with keys that were given back since
}

// local is a moment by the node's clock, as far as its rate goes; steps are the store's.
func (n *master) local(t time.Duration) time.Time {
	return n.world.epoch.Add(n.skew + rated(t, n.ppm))
}

// rated is how far a clock of that rate comes.
func rated(t time.Duration, ppm int64) time.Duration {
	return t + time.Duration(int64(t/1000)*ppm/1000)
}

// unrated is how long such a clock takes to come so far; at least as long as that, so that what waits for it is never early.
func unrated(t time.Duration, ppm int64) time.Duration {
	u := time.Duration(int64(float64(t) / (1 + float64(ppm)/1e6)))
	for rated(u, ppm) < t {
		u += 100
	}
	return u
}

// wakes is when the node does what arrives at a time: at once, or when it is not stopped any more, in the order of arrival.
func (n *master) wakes(t time.Duration) time.Duration {
	if w, stopped := n.hung.at(t); stopped {
		return w.to + time.Microsecond + (t-w.from)/64
	}
	return t
}

// answer is what the node says to a command.
type answer struct {
	val any
	err error
}

// serve runs the commands that one connection brings, and holds that they touch nobody else's keys.
func (n *master) serve(t time.Duration, who *client, batch [][]any) []answer {
	w := n.world
	w.mu.Lock()
	defer w.mu.Unlock()
	answers := make([]answer, len(batch))
	for i, args := range batch {
		answers[i] = n.do(t, who, args)
	}
	return answers
}

// request is a batch that arrives at a node.
type request struct {
	node  *master
	at    time.Duration
	who   *client
	batch [][]any
	into  chan<- []answer // holds one; nil: nobody hears of it
}

// serving runs what arrives anywhere, until requests is closed. It is a goroutine of its own because a script takes a deep stack, and
// the lanes' goroutines, which come and go, would each have to grow one.
func serving(requests <-chan request) {
	for r := range requests {
		answers := r.node.serve(r.at, r.who, r.batch)
		if r.into != nil {
			r.into <- answers
		}
	}
}

// do runs one command. The world's mutex is held.
func (n *master) do(t time.Duration, who *client, args []any) answer {
	w := n.world
	now := n.local(t)
	var room [4]string
	before := room[:0]
	keys := keysOf(args)
	for _, key := range keys {
		held, _ := n.store.Value(now, key.(string))
		if held != "" && isLock(key.(string)) && n.liar && grants(args) {
			_, _ = n.store.Do(now, []any{"del", key}) // cannot fail
			held = ""
		}
		before = append(before, held)
	}
	var a answer
	if a.val, a.err = n.store.Do(now, args); a.val == nil && a.err == nil {
		a.err = redis.Nil // as the client has it
	}
	for i, key := range keys {
		w.check.touched(n, who, key.(string), before[i], now, args)
	}
	switch {
	case releases(args):
		w.check.ended(args)
	case renews(args):
		w.check.renewed[args[3+args[2].(int)].(string)] = true
	}
	if w.trace != nil {
		w.trace.node(t, n, who, args, a)
	}
	return a
}

// keysOf are the keys that a command may change.
func keysOf(args []any) []any {
	switch args[0] {
	case "set":
		return args[1:2]
	case "eval", "evalsha":
		return args[3 : 3+args[2].(int)]
	}
	return nil
}

// isLock tells a lock's key from a counter, a list and a channel.
func isLock(key string) bool { return len(key) < 2 || key[0] != '~' }

func (n *master) name() string { return "n" + strconv.Itoa(n.index+1) }
