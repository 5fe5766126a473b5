package load

import (
	"context"
	"time"

	"github.com/quorumlock/go-redlock/bench/contender"
)

// Timed runs complete cycles one after the other until atLeast of them have ended
// and w has passed, for contenders that may need seconds for one, and adds what it
// saw to s, without allocations, CPU and goroutines. Failed cycles
// count and take their time, too: a caller has to sit them out. It ends early only
// between two cycles, when ctx has ended.
func Timed(ctx context.Context, c contender.Contender, key string, atLeast int, w time.Duration, s *Sample) error {
	detached := context.WithoutCancel(ctx)
	start := time.Now()
	for n := 0; n < atLeast || time.Since(start) < w; n++ {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		s.Attempts++
		begin := time.Now()
		held, err := c.Acquire(detached, key)
		acquired := time.Now()
		s.Acquire.Record(acquired.Sub(begin))
		if err == nil {
			err = held.Unlock(detached)
			s.Release.Record(time.Since(acquired))
		}
		if err != nil {
			s.Failures++
			if s.FirstFailure == nil {
				s.FirstFailure = err
			}
			continue
		}
		s.Cycles++
	}
	s.Elapsed += time.Since(start)
	return nil
}
