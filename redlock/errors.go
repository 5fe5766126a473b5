package redlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"
)

// What went wrong, to be asked with errors.Is. The details are in a [*QuorumError] and its [*NodeError]s, to be had with
// errors.AsType.
var (
	ErrNotAcquired = errors.New("redlock: not acquired")     // of every Lock and TryLock that asked nodes in vain, or was cancelled
	ErrTaken       = errors.New("redlock: taken")            // somebody else has the key on so many nodes that no majority is left
	ErrNoQuorum    = errors.New("redlock: no quorum")        // too few nodes answered to decide anything
	ErrTooSlow     = errors.New("redlock: too slow")         // a majority granted, but its validity had run out by then
	ErrLost        = errors.New("redlock: lost")             // the lock had run out, or was somebody else's already
	ErrUnlocked    = errors.New("redlock: unlocked")         // the lock was given back before
	ErrClosed      = errors.New("redlock: closed")           // the Locker is closed
	ErrInvalid     = errors.New("redlock: invalid argument") // the text names the relation that failed; nothing was sent
)

// QuorumError is what the nodes answered when an operation did not succeed. errors.Is finds its class in it: one of ErrTaken,
// ErrNoQuorum, ErrTooSlow and ErrLost, or none where the caller's context ended first; ErrNotAcquired where Op is "lock" or
// "trylock"; the errors of the nodes; and the error and the cause of the caller's context if that had ended. A node that had
// not answered by then, and need not, is in none of the counts.
//
// Of an "unlock", Granted counts the nodes that are rid of the token and Refused those that carry another's; a lost lock
// matches ErrTaken besides where those are so many that somebody else may have the lock.
type QuorumError struct {
	Op      string // "lock", "trylock", "resume", "extend", "leave" or "unlock"
	Key     string // without the prefix
	Nodes   int
	Quorum  int
	Granted int
	Refused int
	Unknown int // may have been applied: no answer in time, or one that proves nothing
	Unsent  int // certainly not applied
	Errs    []*NodeError

	classes []error // the first one names the error
	ended   []error // the caller's context's error and cause
	flawed  bool    // of an Extend that was won all the same
}

// addContext joins the error of the caller's context, and its cause.
func (e *QuorumError) addContext(ctx context.Context, err error) {
	e.ended = append(e.ended, err)
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		e.ended = append(e.ended, cause)
	}
}

// Error says the class, the operation, the key and the facts. It names each node that failed once, and no token.
func (e *QuorumError) Error() string {
	var b strings.Builder
	class := ErrNotAcquired.Error()
	switch {
	case len(e.classes) > 0:
		class = e.classes[0].Error()
	case e.flawed:
		class = "redlock: jeopardy"
	case e.Op == "extend" || e.Op == "resume":
		class = "redlock: interrupted"
	}
	fmt.Fprintf(&b, "%s: %s %q: ", class, e.Op, e.Key)
	if e.Unsent == e.Nodes && len(e.Errs) == 0 {
		b.WriteString("no node was asked")
	} else {
		fmt.Fprintf(&b, "%d of %d nodes granted, %d needed; %d refused, %d unknown, %d unsent, %d open", e.Granted, e.Nodes,
			e.Quorum, e.Refused, e.Unknown, e.Unsent, e.Nodes-e.Granted-e.Refused-e.Unknown-e.Unsent)
	}
	for i, err := range e.ended {
		if i == 0 || err.Error() != e.ended[0].Error() {
			fmt.Fprintf(&b, "; %v", err)
		}
	}
	for _, err := range e.Errs {
		fmt.Fprintf(&b, "; %v", err)
	}
	return b.String()
}

// Unwrap returns the classes, the context's errors and the nodes' errors.
func (e *QuorumError) Unwrap() []error {
	all := make([]error, 0, len(e.classes)+len(e.ended)+len(e.Errs))
	all = append(append(all, e.classes...), e.ended...)
	for _, n := range e.Errs {
		all = append(all, n)
	}
	return all
}

// LogValue is the error as structured fields.
func (e *QuorumError) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("msg", e.Error()), slog.String("op", e.Op), slog.String("key", e.Key),
		slog.Int("nodes", e.Nodes), slog.Int("quorum", e.Quorum), slog.Int("granted", e.Granted),
		slog.Int("refused", e.Refused), slog.Int("unknown", e.Unknown), slog.Int("unsent", e.Unsent),
	}
	return slog.GroupValue(attrs...)
}

// NodeError is why one node's vote is missing.
type NodeError struct {
	Index int    // among the nodes given to New or Open, from 0
	Name  string // its address
	Err   error
}

// Error names the node and the cause.
func (e *NodeError) Error() string {
	return fmt.Sprintf("node %d (%s): %v", e.Index, e.Name, e.Err)
}

// Is finds target in the cause, but never context.Canceled or context.DeadlineExceeded: a dial that timed out matches the
// latter, and must not look like the end of the caller's own context.
func (e *NodeError) Is(target error) bool {
	if target == context.Canceled || target == context.DeadlineExceeded {
		return false
	}
	return errors.Is(e.Err, target)
}

// As finds the first error of target's type in the cause.
func (e *NodeError) As(target any) bool {
	return errors.As(e.Err, target) //nolint:forbidigo // errors.AsType wants the type, and here it is in target only
}

// LogValue is the error as structured fields.
func (e *NodeError) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("index", e.Index), slog.String("name", e.Name), slog.String("err", fmt.Sprint(e.Err)))
}

// barred tells whether a majority refuses our credentials or rights: asking again will not mend that.
func (e *QuorumError) barred() bool {
	n := 0
	for _, err := range e.Errs {
		for _, prefix := range [...]string{"NOAUTH", "WRONGPASS", "NOPERM"} {
			if redis.HasErrorPrefix(err.Err, prefix) {
				n++
				break
			}
		}
	}
	return n >= e.Quorum
}
