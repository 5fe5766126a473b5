package fence

import (
	"context"
	"sync/atomic"
)

// Memory guards a resource that lives in one process. Its zero value is ready for use and has seen nothing; it must not be
// copied after the first use. It may be used by several goroutines at once.
//
// Hold the mutex of the data across Admit and the write: otherwise a goroutine that is stopped in between writes late.
type Memory struct {
	highest atomic.Int64
}

// Admit admits fence or returns an error that matches ErrStale or ErrNoFence, or that of a ctx which has ended. It never waits.
func (m *Memory) Admit(ctx context.Context, fence int64) error {
	if err := check(ctx, fence); err != nil {
		return err
	}
	for {
		seen := m.highest.Load()
		if fence < seen {
			return &StaleError{Fence: fence, Highest: seen}
		}
		// Also for an equal fence: had another raised the number since it was read, ours would be stale by now.
		if m.highest.CompareAndSwap(seen, fence) {
			return nil
		}
	}
}

// Highest returns the highest fence admitted, 0 where none was.
func (m *Memory) Highest() int64 { return m.highest.Load() }
