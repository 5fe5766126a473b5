package node

import (
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// Attempt is one token's bid for the keys of one lock on every node of a [Group]. The exported fields are set before
// [Group.Ask] and only read after, but for those that say otherwise.
type Attempt struct {
	Keys  []any         // as they go on the wire: strings, sorted, boxed once for all the commands that name them
	Token any           // what the keys carry: a string
	TTL   time.Duration // whole milliseconds, as TTLMillis
	// TTLMillis is what the nodes are told: an int64, boxed by the caller, who mostly has it from its settings.
	TTLMillis any
	Voter     Voter
	Fencing   *Fencing // nil: the lock is not fenced
	From      any      // the token that the keys are taken over from; nil: they are to be free

	// Blockers, of an attempt on several keys, are for each node which key refused, from 1; set before the Voter hears of it. nil:
	// nobody asks.
	Blockers *[quorum.MaxNodes]uint8

	// How it is given up: set before [Group.Release], and not changed after.
	End   Ending
	Until time.Duration // of Leave: when the keys are to be gone

	claims []claim
}

// Fencing is what a fenced attempt tells the nodes, and what they answer.
type Fencing struct {
	Counters  []any // for each of the attempt's keys that of its counter
	Seed      any   // microseconds, an int64
	Retention any   // milliseconds, an int64
	// Stamps are the nodes' own. One is set before the Voter hears that its node granted.
	Stamps []quorum.Stamp
	Fence  int64 // the lock's, of whoever asks; no lane looks at it
}

// Ending is how an attempt is given up.
type Ending uint8

// The endings.
const (
	Delete  Ending = iota // the keys are deleted
	Restore               // the keys go back to the token they were taken over from
	Leave                 // the keys live on until Attempt.Until
)

// plain tells whether all that is asked for is a key that expires, which takes no script.
func (a *Attempt) plain() bool { return len(a.Keys) == 1 && a.Fencing == nil && a.From == nil }

func (a *Attempt) setArgs() []any {
	switch {
	case a.plain():
		return []any{"set", a.Keys[0], a.Token, "nx", "px", a.TTLMillis}
	case a.From != nil:
		return resumeScript.args(a.allKeys(), a.Token, a.TTLMillis, len(a.Keys), a.seed(), a.retention(), a.From)
	default:
		return acquireScript.args(a.allKeys(), a.Token, a.TTLMillis, len(a.Keys), a.seed(), a.retention())
	}
}

// giveUpArgs is the command that gives the keys up at a time of the clock.
func (a *Attempt) giveUpArgs(now time.Duration) []any {
	switch a.End {
	case Leave:
		rest := max((a.Until - now).Milliseconds(), 1)
		if a.From != nil {
			return leaveScript.args(a.Keys, a.Token, rest, a.From)
		}
		return leaveScript.args(a.Keys, a.Token, rest)
	case Restore:
		return restoreScript.args(a.Keys, a.Token, a.From)
	default:
		if a.From != nil {
			return releaseScript.args(a.Keys, a.Token, a.From)
		}
		return releaseScript.args(a.Keys, a.Token)
	}
}

func (a *Attempt) againArgs() []any {
	return againScript.args(a.allKeys(), a.Token, a.TTLMillis, len(a.Keys), a.seed(), a.retention())
}

func (a *Attempt) extendArgs(fence int64) []any {
	return extendScript.args(a.Keys, append([]any{a.Token, a.TTLMillis, a.retention(), fence}, a.counters()...)...)
}

func (a *Attempt) repairArgs(fence int64) []any {
	return repairScript.args(a.Keys, append([]any{a.Token, a.TTLMillis, fence, a.retention()}, a.counters()...)...)
}

func (a *Attempt) raiseArgs(fence int64) []any {
	return raiseScript.args(a.allKeys(), a.Token, fence, a.retention())
}

// allKeys are the keys and, of a fenced attempt, the counters.
func (a *Attempt) allKeys() []any {
	return append(a.Keys[:len(a.Keys):len(a.Keys)], a.counters()...)
}

func (a *Attempt) counters() []any {
	if a.Fencing == nil {
		return nil
	}
	return a.Fencing.Counters
}

func (a *Attempt) seed() any {
	if a.Fencing == nil {
		return 0
	}
	return a.Fencing.Seed
}

func (a *Attempt) retention() any {
	if a.Fencing == nil {
		return 0
	}
	return a.Fencing.Retention
}
