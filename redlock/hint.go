package redlock

import (
	"errors"
	"time"
)

// Who is named again and again in vain follows so many hints at once, and then one in a while: anybody may publish.
const (
	hintsAtOnce = 16
	hintEvery   = 10 * time.Millisecond
)

var errTooManyHints = errors.New("more hints than anybody can have given")

// followed is the hints that were followed of late, and when the last of them was. The zero value has followed none.
type followed struct {
	count int
	at    time.Duration
}

// another tells whether one more may be followed now, and then counts it.
func (f *followed) another(now time.Duration) bool {
	if f.count > 0 {
		over := int(min((now-f.at)/hintEvery, hintsAtOnce))
		f.count = max(f.count-over, 0)
	}
	if f.count == hintsAtOnce {
		return false
	}
	f.count, f.at = f.count+1, now
	return true
}

// hint tells that the caller was named, at a node.
func (q *queuer) hint(at int) {
	now := q.call.core.clock.Now()
	q.mu.Lock()
	q.out() // but who was asking meanwhile, and entered again, may be in there still
	follow := q.hints.another(now)
	q.hinted = q.hinted || follow
	q.mu.Unlock()
	if !follow {
		q.call.core.troubled(at, errTooManyHints)
		return
	}
	q.w.notify()
}
