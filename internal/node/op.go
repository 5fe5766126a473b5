package node

import (
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// Why an operation was never sent, or its answer does not count.
var (
	ErrClosed    = errors.New("closed")
	ErrQueueFull = errors.New("queue to the node is full")
	ErrDebtsFull = errors.New("too many keys are owed to the node")
	ErrSuspect   = errors.New("node owes an answer past its timeout")
	ErrWithdrawn = errors.New("not sent: busy with an earlier question when the round was decided")
	ErrLate      = errors.New("waited past its deadline before it was sent")
	ErrOwed      = errors.New("refused, but the key there may be an earlier one of ours")
	ErrShape     = errors.New("reply of an unexpected shape")
)

type kind uint8

const (
	kindSet    kind = iota
	kindRepair      // a SET again of a lock that is held
	kindRelease
	kindDebt // a release on the node's own account
	kindAsk  // a question that neither makes a key nor gives one up
	kindPing
)

// op is one operation on its way through a lane. While it is queued its node's mutex guards it; while its batch is in
// flight the lane's goroutine owns it.
type op struct {
	Command
	kind     kind
	queued   bool
	claim    *claim
	to       Releaser      // kindRelease: who hears the answer; nil: nobody
	ask      *ask          // kindAsk and kindRepair
	hand     *Hand         // kindRelease: what it does besides; nil: nothing
	deadline time.Duration // not sent later than this; 0: never too late
	next     *op
	prev     *op

	// What the operation came to, for the listener that is told once the mutex is free.
	vote    quorum.Vote
	answer  quorum.Answer
	mayHold bool
	cause   error
}

// sets tells whether the operation may make a key.
func (o *op) sets() bool { return o.kind == kindSet || o.kind == kindRepair }

// releases tells whether the operation gives keys up.
func (o *op) releases() bool { return o.kind == kindRelease || o.kind == kindDebt }

// status is what became of an operation.
type status uint8

const (
	unsent   status = iota // certainly not applied
	unknown                // may have been applied, or may yet be
	answered               // the node's own answer, a value or an error
)

func (o *op) status() status {
	switch {
	case o.Answered():
		return answered
	case o.asked:
		return unknown
	default:
		return unsent
	}
}

// lacksScript tells whether the node did not know the script, so that nothing of the operation was applied, and may be told
// its source.
func (o *op) lacksScript() bool {
	err := o.Err()
	if err == nil || err == redis.Nil || !o.asked { //nolint:errorlint // the nil reply as it is: this is on every answer's way
		return false
	}
	return o.args[0] == "evalsha" && serverError(err) && strings.HasPrefix(err.Error(), "NOSCRIPT")
}

// queue is a list of operations, first in, first out. It is intrusive, so that withdrawing one is O(1).
type queue struct {
	head, tail *op
	len        int
}

func (q *queue) pushBack(o *op) {
	o.queued, o.prev, o.next = true, q.tail, nil
	if q.tail == nil {
		q.head = o
	} else {
		q.tail.next = o
	}
	q.tail = o
	q.len++
}

func (q *queue) pushFront(o *op) {
	o.queued, o.prev, o.next = true, nil, q.head
	if q.head == nil {
		q.tail = o
	} else {
		q.head.prev = o
	}
	q.head = o
	q.len++
}

func (q *queue) remove(o *op) {
	if o.prev == nil {
		q.head = o.next
	} else {
		o.prev.next = o.next
	}
	if o.next == nil {
		q.tail = o.prev
	} else {
		o.next.prev = o.prev
	}
	o.queued, o.prev, o.next = false, nil, nil
	q.len--
}

// longest is the longest TTL among the operations' attempts.
func (q *queue) longest() (ttl time.Duration) {
	for o := q.head; o != nil; o = o.next {
		ttl = max(ttl, o.claim.attempt.TTL)
	}
	return ttl
}
