package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/load"
)

// field is the contenders that are compared with one another.
type field []contender.Contender

func openAll(addrs []string) (field, error) {
	library, err := contender.Library(addrs)
	if err != nil {
		return nil, err
	}
	fenced, err := contender.Fenced(addrs)
	if err != nil {
		return nil, errors.Join(err, library.Close())
	}
	return field{contender.Raw(addrs[0]), contender.Fan(addrs), contender.Redsync(addrs), library, fenced}, nil
}

func (f field) without(names ...string) field {
	var rest field
	for _, c := range f {
		if !slices.Contains(names, c.Name()) {
			rest = append(rest, c)
		}
	}
	return rest
}

func (f field) close() {
	for _, c := range f {
		_ = c.Close() // measured already; a connection that was lost is no news
	}
}

// greet has every contender make its first connections, and their clients end the
// goroutines that they have only until then.
func (b *bench) greet(ctx context.Context, f field) error {
	for _, c := range f {
		var unused load.Sample
		if err := load.Timed(ctx, c, b.keys(Alone)[0], 1, 0, &unused); err != nil {
			return err
		}
		if unused.FirstFailure != nil {
			return fmt.Errorf("%s: the first cycle: %w", c.Name(), unused.FirstFailure)
		}
	}
	return nil
}

// plan is what one interleaved measurement is of.
type plan struct {
	section string
	round   int
	callers int
	before  int // goroutines of the process before the contenders were opened
}

// interleave measures one cell of each contender: slice by slice they take turns,
// and another one begins each time.
func (b *bench) interleave(ctx context.Context, p plan, f field) error {
	samples := make([]load.Sample, len(f))
	for slice := range b.Slices {
		for turn := range f {
			i := (turn + slice + p.round) % len(f)
			err := load.Run(ctx, f[i], b.keys(p.callers), b.window(p.callers), &samples[i])
			if err != nil {
				return fmt.Errorf("%s: %w", p.section, err)
			}
		}
	}
	for i, c := range f {
		b.record(Cell{p.section, c.Name(), p.callers}, &samples[i], p.before)
	}
	return nil
}

// record keeps a sample as a round of its cell, and says where cycles failed.
func (b *bench) record(c Cell, s *load.Sample, goroutines int) {
	b.results.add(c, figuresOf(s, c.Callers, goroutines))
	if s.Failures > 0 {
		b.say("%s: %d cycles failed, the first: %v", c, s.Failures, s.FirstFailure)
	}
}

// keys returns one key for each caller, never used before in this run: what an
// earlier window may have left on a node that was stopped cannot be met.
func (b *bench) keys(callers int) []string {
	b.windows++
	keys := make([]string, callers)
	for i := range keys {
		keys[i] = fmt.Sprintf("bench:%d:%d", b.windows, i)
	}
	return keys
}
