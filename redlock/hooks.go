package redlock

import (
	"context"
	"time"
)

// Hooks are functions that are told what happens; a nil one is skipped. Several may be called at once. A hook that panics is
// ignored.
//
// Attempt, Vote, Acquired, Released, and Extended and Jeopardy of an Extend, are called by the goroutine whose call it is, with
// its context: a slow one delays its own caller and nobody else. Extended and Jeopardy of a KeepAlive, Lost and Debts are called
// by goroutines of their own, so that they delay nothing; while one of them is still under way for a lock, or for a node, what
// happens to the same meanwhile is not told.
type Hooks struct {
	// Attempt is told of every attempt as it ends, so that a Lock which waits for a key or for dead nodes is seen waiting. A waiter first
	// asks the nodes whether they have the key; where so many do that it could not be had, that was the attempt.
	Attempt func(ctx context.Context, a Attempt)
	// Vote is told of every vote of an attempt that was there when it ended, before Attempt is.
	Vote func(ctx context.Context, v Vote)
	// Acquired is told of every lock that was had.
	Acquired func(ctx context.Context, a Acquisition)
	// Extended is told of every Extend that was won.
	Extended func(ctx context.Context, e Extension)
	// Jeopardy is told of every Extend that failed, or found that a node had lost the key, while the lock is still held.
	Jeopardy func(ctx context.Context, j Jeopardy)
	// Lost is told when a lock was lost, with the values of the context that acquired it: at the end of its validity where somebody
	// asked for Done or Context, or keeps it alive, else by the next call of one of its methods, if there is one.
	Lost func(ctx context.Context, l Loss)
	// Released is told of every Unlock and Leave that asked nodes.
	Released func(ctx context.Context, r Release)
	// Debts is told when the number of keys has changed that a node may carry though we gave them up.
	Debts func(ctx context.Context, d Debts)
	// Trouble is told when waiting for other processes does not work as it should at a node: it has no queue for us, the subscription
	// broke, or a strange hint came. Locks are had all the same, by asking now and then.
	Trouble func(ctx context.Context, t Trouble)
}

// Attempt is one try of [Locker.Lock], [Locker.TryLock] or [Locker.Resume], as far as it was known when the call went on: votes
// still open then are in none of the counts.
type Attempt struct {
	Key     string
	Number  int           // from 1, within one call
	Elapsed time.Duration // since the attempt's first byte was about to leave
	Granted int
	Refused int
	Unknown int
	Unsent  int
	Err     error // nil: acquired
}

// Vote is one node's answer to an attempt.
type Vote struct {
	Key  string
	Node int    // among the nodes given to New or Open, from 0
	Name string // its address
	Vote string // "granted", "refused", "unknown" or "unsent"
	Err  error  // why it is unknown or unsent; nil otherwise
}

// Acquisition is a lock that was had.
type Acquisition struct {
	Key       string
	Fence     int64 // 0: not fenced
	Attempts  int
	Remaining time.Duration
}

// Extension is an Extend that was won.
type Extension struct {
	Key       string
	Elapsed   time.Duration // since its first byte was about to leave
	Remaining time.Duration
}

// Jeopardy is something that may cost a lock, and has not yet.
type Jeopardy struct {
	Key       string
	Remaining time.Duration
	Err       error // a *QuorumError with what is wrong at which node
}

// Loss is a lock that was lost.
type Loss struct {
	Key string
	Err error
}

// Release is a lock that was given up.
type Release struct {
	Key string
	Err error // nil: it was held until then, and is given up
}

// Trouble is why a node's queue is of no use at present.
type Trouble struct {
	Node int
	Name string
	Err  error
}

// Debts is how many keys are owed to a node.
type Debts struct {
	Node int
	Name string
	Owed int
}
