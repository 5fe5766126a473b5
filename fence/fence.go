package fence

import (
	"context"
	"errors"
	"fmt"
)

// Why a fence was not admitted, to be asked with errors.Is. The numbers of a stale one are in a [*StaleError].
var (
	ErrStale   = errors.New("fence: stale")            // a higher fence was admitted before
	ErrNoFence = errors.New("fence: no fence")         // zero or less; the fence of a lock taken without fencing is 0
	ErrNoRow   = errors.New("fence: no row")           // the table has no row with that id
	ErrInvalid = errors.New("fence: invalid argument") // of the guard itself; the text names what is wrong
)

// Guard admits a fence that is at least the highest it has admitted before and refuses all others. Guards may be used by
// several goroutines, as far as the client or the transaction below them may.
type Guard interface {
	// Admit returns nil where fence is the highest seen, now or still, and else an error that says why it is not admitted.
	Admit(ctx context.Context, fence int64) error
}

// StaleError says by how much a fence is stale. It matches ErrStale.
type StaleError struct {
	Fence   int64 // the one refused
	Highest int64 // the highest admitted before
}

// Error names both numbers.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: %d, where %d was seen", ErrStale, e.Fence, e.Highest)
}

// Is reports whether target is ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// check refuses what no guard needs to ask about. A context that has ended loses although a guard could still answer: where
// it is the lock's own, its end is the news that the lock is lost.
func check(ctx context.Context, fence int64) error {
	if fence <= 0 {
		return fmt.Errorf("%w: %d", ErrNoFence, fence)
	}
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(cause, err):
		return fmt.Errorf("fence: not asked: %w", cause)
	default:
		return fmt.Errorf("fence: not asked: %w: %w", err, cause)
	}
}
