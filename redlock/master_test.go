package redlock

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/sim/store"
)

// master is a Redis in memory, as far as a lock needs one, behind a network with the faults it is told to have. It runs the
// library's own scripts, on package time, and so on a bubble's. It is a node.Transport.
type master struct {
	timeout time.Duration // how long the client waits for a reply
	busy    atomic.Int32  // round trips under way
	ears    atomic.Int32  // goroutines that listen
	store   *store.Store

	downstream atomic.Pointer[way] // the way, for who must not wait for the mutex

	mu         sync.Mutex // protects what follows
	streams    map[*stream]struct{}
	subscribed int           // so often
	changed    chan struct{} // closed, and made anew, with each change of the way or of stopped
	way        way
	log        []request
	batches    int // pipelines that left
	stopped    bool
	backlog    []func() // what a stopped master finds when it wakes
}

// way is how requests and replies travel at present.
type way struct {
	out, back time.Duration
	down      error // the connection is refused with it, after out
	drop      bool  // requests arrive, replies never
	lose      bool  // requests never arrive
	mute      bool  // what is published never arrives
	deaf      error // a subscription is refused with it
	// answer stands in for the master: a value or an error of the server. The request is not applied.
	answer func(r request) (val any, err error, ok bool)
	// broken is what the client makes of a reply that it cannot read.
	broken func(r request) error
}

// request is a command whose bytes left, at a time.
type request struct {
	name, script string // of a command that runs one, which of the library's
	key, token   string // the first key, and what it is to carry
	ttl          time.Duration
	args         []any
	at, applied  time.Time
}

// reply is an error that a server sends.
type reply string

func (e reply) Error() string { return string(e) }

// RedisError marks it, as the client's own type for it is marked.
func (reply) RedisError() {}

var (
	errRefused = errors.New("connect: connection refused")
	errSilence = errors.New("i/o timeout")
)

func newMaster(timeout time.Duration) *master {
	m := &master{timeout: timeout, store: store.New(), streams: make(map[*stream]struct{}), changed: make(chan struct{})}
	m.downstream.Store(&way{})
	return m
}

func (m *master) Exec(batch []*node.Command) error {
	m.busy.Add(1)
	defer m.busy.Add(-1)
	m.mu.Lock()
	w, stopped := m.way, m.stopped
	m.mu.Unlock()
	if w.down != nil {
		sleep(w.out)
		return w.down
	}
	requests := make([]request, len(batch))
	for i, c := range batch {
		requests[i] = parse(c.Args())
	}
	m.mu.Lock()
	first := len(m.log)
	m.log = append(m.log, requests...)
	m.batches++
	m.mu.Unlock()

	type answer struct {
		val any
		err error
	}
	answers := make([]answer, len(batch))
	arrived := make(chan struct{})
	arrive := func() {
		defer close(arrived)
		for i := range requests {
			answers[i].val, answers[i].err = m.serve(first+i, w)
		}
	}
	patience := time.NewTimer(m.timeout)
	defer patience.Stop()
	switch {
	case w.lose:
	case stopped:
		m.mu.Lock()
		m.backlog = append(m.backlog, arrive)
		m.mu.Unlock()
	case w.out > 0:
		time.AfterFunc(w.out, arrive)
	default:
		arrive()
	}
	select {
	case <-arrived:
	case <-patience.C:
		return errSilence
	}
	if w.broken != nil {
		return w.broken(requests[0])
	}
	if w.drop {
		<-patience.C
		return errSilence
	}
	if w.back > 0 {
		back := time.NewTimer(w.back)
		defer back.Stop()
		select {
		case <-back.C:
		case <-patience.C:
			return errSilence
		}
	}
	for i, c := range batch {
		c.SetVal(answers[i].val)
		c.SetErr(answers[i].err)
	}
	return nil
}

// serve applies a request and returns its answer.
func (m *master) serve(i int, w way) (any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log[i].applied = time.Now()
	if w.answer != nil {
		if val, err, ok := w.answer(m.log[i]); ok {
			return val, err
		}
	}
	return m.apply(m.log[i])
}

func (m *master) apply(r request) (any, error) {
	val, err := m.store.Do(time.Now(), r.args)
	if val == nil && err == nil {
		return nil, redis.Nil // as the client has it
	}
	return val, err
}

// parse panics on anything but the commands of a lock: no other may ever be sent.
func parse(args []any) request {
	r := request{name: args[0].(string), at: time.Now(), args: args}
	switch {
	case r.name == "pttl" && len(args) == 2:
		r.key = args[1].(string)
	case r.name == "ping" && len(args) == 1:
	case r.name == "lrem" && len(args) == 4 && args[2] == 0:
		r.key = args[1].(string)
	case r.name == "set" && len(args) == 6 && args[3] == "nx" && args[4] == "px":
		r.key, r.token = args[1].(string), args[2].(string)
		r.ttl = millis(args[5])
	case r.name == "eval" || r.name == "evalsha":
		name, ok := scriptName(args[1].(string))
		if !ok {
			panic(fmt.Sprintf("not a script of the library: %v", args))
		}
		r.script, r.key = name, args[3].(string)
		argv := args[3+args[2].(int):]
		switch name {
		case "acquire", "again", "resume", "extend", "repair", "leave":
			r.token, r.ttl = argv[0].(string), millis(argv[1])
		case "inspect", "queue", "quit": // nothing of them is a token
		default:
			r.token = argv[0].(string)
		}
	default:
		panic(fmt.Sprintf("not a command of a lock: %v", args))
	}
	return r
}

// millis is a number of milliseconds, as the library passes it or as it comes off the wire.
func millis(arg any) time.Duration {
	n, err := strconv.ParseInt(fmt.Sprint(arg), 10, 64)
	if err != nil {
		panic(err)
	}
	return time.Duration(n) * time.Millisecond
}

func sleep(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
	}
}
