package suite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/load"
)

// countEvery is how often goroutines are counted while locks are kept: counting must not be what is measured.
const countEvery = 250 * time.Millisecond

// renewal keeps many locks alive, one goroutine each, and reads what that costs. They are taken one after the other in the time
// between two renewals, so that these are spread as those of locks that were taken at any time.
func (b *bench) renewal(ctx context.Context) error {
	b.say("renewal")
	before := runtime.NumGoroutine()
	library, err := contender.LibraryForKeeping(b.nodes.Addrs(), b.KeptTTL)
	if err != nil {
		return err
	}
	defer field{library}.close()
	if err := b.greet(ctx, field{library}); err != nil {
		return err
	}
	kept, cancel := context.WithCancel(ctx)
	defer cancel()
	period := b.KeptTTL / 3
	var keepers sync.WaitGroup
	var lost atomic.Int64
	locks := make([]contender.Held, b.KeptLocks)
	for i, key := range b.keys(b.KeptLocks) {
		pause := period * time.Duration(i) / time.Duration(b.KeptLocks)
		keepers.Go(func() {
			time.Sleep(pause)
			var err error
			if locks[i], err = keepOne(kept, library, key); err != nil && lost.Add(1) == 1 {
				b.say("renewal: the first lock lost: %v", err)
			}
		})
	}
	time.Sleep(2 * period) // until the last has been renewed
	f, err := b.watchRenewal(ctx, before)
	if err != nil {
		return fmt.Errorf("renewal: %w", err)
	}
	cancel()
	keepers.Wait()
	f.Lost = int(lost.Load())
	f.Kept = b.KeptLocks - f.Lost
	b.timeAll("released", len(locks), func(i int) error {
		if locks[i] == nil {
			return errNotHeld
		}
		return locks[i].Unlock(ctx)
	})
	f.Renewals = float64(b.KeptLocks) / period.Seconds()
	b.results.Renewal = f
	return nil
}

// keepOne keeps a lock until ctx ends, and returns it, or why it could not.
func keepOne(ctx context.Context, library contender.Contender, key string) (contender.Held, error) {
	held, err := library.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := held.(contender.Kept).KeepAlive(ctx); !errors.Is(err, context.Canceled) {
		return held, errors.Join(errors.New("it was not kept to the end"), err)
	}
	return held, nil
}

// watchRenewal reads the costs while locks are kept.
func (b *bench) watchRenewal(ctx context.Context, before int) (*RenewalFigures, error) {
	meter, err := load.StartMeter()
	if err != nil {
		return nil, err
	}
	f := &RenewalFigures{}
	ticker := time.NewTicker(countEvery)
	defer ticker.Stop()
	for start := time.Now(); time.Since(start) < b.KeptFor; {
		f.Goroutines = max(f.Goroutines, runtime.NumGoroutine()-before)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-ticker.C:
		}
	}
	elapsed, cpu, err := meter.Read()
	f.Seconds, f.Cores = elapsed.Seconds(), cpu.Seconds()/elapsed.Seconds()
	return f, err
}
