package redlock

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/internal/node"
)

// master is a Redis in memory, as far as a lock needs one, behind a network with the faults it is told to have. It runs on
// package time, and so on a bubble's. It is a node.Transport.
type master struct {
	timeout time.Duration // how long the client waits for a reply
	busy    atomic.Int32  // round trips under way

	mu      sync.Mutex // protects what follows
	keys    map[string]entry
	scripts bool // the release script is loaded
	way     way
	log     []request
	stopped bool
	backlog []func() // what a stopped master finds when it wakes
}

type entry struct {
	value   string
	expires time.Time
}

// way is how requests and replies travel at present.
type way struct {
	out, back time.Duration
	down      error // the connection is refused with it, after out
	drop      bool  // requests arrive, replies never
	lose      bool  // requests never arrive
	// answer stands in for the master: a value or an error of the server. The request is not applied.
	answer func(r request) (val any, err error, ok bool)
	// broken is what the client makes of a reply that it cannot read.
	broken func(r request) error
}

// request is a command whose bytes left, at a time.
type request struct {
	name, key, token string
	ttl              time.Duration
	at, applied      time.Time
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
	return &master{timeout: timeout, keys: make(map[string]entry)}
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
	held, there := m.keys[r.key]
	there = there && time.Now().Before(held.expires)
	switch r.name {
	case "set":
		if there {
			return nil, redis.Nil
		}
		m.keys[r.key] = entry{value: r.token, expires: time.Now().Add(r.ttl)}
		return "OK", nil
	case "evalsha", "eval":
		if r.name == "evalsha" && !m.scripts {
			return nil, reply("NOSCRIPT No matching script. Please use EVAL.")
		}
		m.scripts = true
		switch {
		case !there:
			return int64(0), nil
		case held.value != r.token:
			return int64(-1), nil
		}
		delete(m.keys, r.key)
		return int64(1), nil
	case "ping":
		return "PONG", nil
	}
	return nil, reply("ERR unknown command")
}

// parse panics on anything but the commands of a lock: no other may ever be sent.
func parse(args []any) request {
	r := request{name: args[0].(string), at: time.Now()}
	switch {
	case r.name == "ping" && len(args) == 1:
	case r.name == "set" && len(args) == 6 && args[3] == "nx" && args[4] == "px":
		r.key, r.token = args[1].(string), args[2].(string)
		r.ttl = time.Duration(args[5].(int64)) * time.Millisecond
	case strings.HasPrefix(r.name, "eval") && len(args) == 5 && args[2] == 1:
		r.key, r.token = args[3].(string), args[4].(string)
	default:
		panic(fmt.Sprintf("not a command of a lock: %v", args))
	}
	return r
}

func sleep(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
	}
}
