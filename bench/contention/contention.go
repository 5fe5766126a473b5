package contention

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/crew"
)

// inTime is when a start counts as slow: its first section is later than that.
const inTime = 100 * time.Millisecond

// Alone is one caller of the library in one process: what the budgets compare with.
func Alone() Cell { return Library(1, 1) }

// Library is the cell of a crew of this library.
func Library(processes, callers int) Cell {
	return Cell{Contender: contender.LibraryName, Processes: processes, Callers: callers}
}

// shapes are the crews that everybody is measured with.
func (s Settings) shapes() []Cell {
	return []Cell{Alone(), Library(1, Few), Library(1, Many), Library(Few, 1), Library(s.Crowd, 1)}
}

// queues are the cells of a queue of the library with and without somebody beside it.
func (s Settings) queues() []Cell {
	cells := slices.Repeat([]Cell{Library(Queue, 1)}, 5)
	cells[1].Loops = OneLoop
	cells[2].Loops = FourLoops
	cells[3].Newcomers = s.Newcomers
	cells[4].Newcomers, cells[4].Elsewhere = s.Newcomers, true
	return cells
}

// bench is one run.
type bench struct {
	Settings
	program string // of a member
	addrs   []string
	counter *counter
	results *Results
	say     func(format string, args ...any)
	windows int // so far: makes the keys unique in the run
}

// Run measures what s asks for on the nodes at addrs, with processes of a program that [crew.Build] made. say is told how far it is.
// After an error the results are not to be used.
func Run(
	ctx context.Context, s Settings, program string, addrs []string, say func(format string, args ...any),
) (*Results, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	b := &bench{
		Settings: s, program: program, addrs: addrs,
		counter: newCounter(addrs), results: &Results{Nodes: len(addrs)}, say: say,
	}
	defer b.counter.close()
	for round := range s.Rounds {
		say("round %d of %d", round+1, s.Rounds)
		if err := b.round(ctx, round < s.SideRounds); err != nil {
			return nil, fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	if s.Starts > 0 {
		for _, name := range []string{contender.LibraryName, contender.RedsyncName} {
			if err := b.starts(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	return b.results, nil
}

// round measures every shape, contender by contender where the peers are in it: what
// slows the machine down for a while meets all of them.
func (b *bench) round(ctx context.Context, sides bool) error {
	field := []string{contender.LibraryName}
	if sides {
		field = append(field, contender.RedsyncName, contender.RedislockName)
	}
	for _, c := range b.shapes() {
		for _, name := range field {
			c.Contender = name
			if err := b.measure(ctx, c); err != nil {
				return err
			}
		}
	}
	if !sides {
		return nil
	}
	for _, c := range b.queues() {
		if err := b.measure(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// measure adds one round of one cell.
func (b *bench) measure(ctx context.Context, c Cell) error {
	b.say("%s", c)
	members, err := crew.Start(ctx, b.program, b.orders(c))
	if err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	seen, err := b.watch(ctx, members, c)
	if closed := members.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	f, waits := seen.figures()
	b.results.add(c, f, waits)
	b.complain(c, f, seen)
	return nil
}

func (b *bench) orders(c Cell) []crew.Order {
	one := crew.Order{Contender: c.Contender, Addrs: b.addrs, Callers: c.Callers, Hold: b.Hold}
	orders := slices.Repeat([]crew.Order{one}, c.Processes)
	one.Callers, one.Loop = 1, true
	return append(orders, slices.Repeat([]crew.Order{one}, c.Loops)...)
}

// watch runs one window of a cell. The commands are those between the barrier and the
// window's end: neither the warming up nor the end of those who still wait counts.
func (b *bench) watch(ctx context.Context, members *crew.Crew, c Cell) (*window, error) {
	before, err := b.counter.read(ctx)
	if err != nil {
		return nil, err
	}
	w := crew.Barrier(b.key(), b.window(c), b.Drain)
	newcomers := b.welcome(ctx, c, w)
	var after int64
	var counted error
	lateness := watchLateness()
	reports, err := members.Run(w, func() { after, counted = b.counter.read(ctx) })
	late := lateness()
	guests, failed := newcomers.wait()
	for _, e := range []error{err, counted, failed} {
		if e != nil {
			return nil, e
		}
	}
	seen := &window{length: w.Length, callers: c.Callers, crew: reports[:c.Processes], commands: after - before, late: late}
	seen.beside = reports[c.Processes:]
	if c.Elsewhere {
		seen.away = guests
	} else {
		seen.beside = append(seen.beside, guests...)
	}
	return seen, nil
}

// complain says what no table shows, or shows in small print only.
func (b *bench) complain(c Cell, f Figures, w *window) {
	if f.Overlaps > 0 {
		b.say("%s: %.0f SECTIONS OVERLAPPED", c, f.Overlaps)
	}
	for _, r := range w.all() {
		if r.Failures > 0 {
			b.say("%s: %d failures in one process, the first: %s", c, r.Failures, r.FirstFailure)
			return
		}
	}
}

// starts lets a crowd loose on a free key, again and again.
func (b *bench) starts(ctx context.Context, name string) error {
	c := Library(b.Crowd, 1)
	c.Contender = name
	b.say("%d starts of %s", b.Starts, c)
	members, err := crew.Start(ctx, b.program, b.orders(c))
	if err != nil {
		return err
	}
	s := &Starts{Contender: name, Processes: c.Processes}
	for range b.Starts {
		lateness := watchLateness()
		reports, err := members.Run(crew.Barrier(b.key(), b.StartWindow, 0), func() {})
		late := lateness()
		if err != nil {
			_ = members.Close() // the reason is known
			return err
		}
		s.add(&window{length: b.StartWindow, callers: 1, crew: reports, late: late})
	}
	b.results.Starts = append(b.results.Starts, s)
	return members.Close()
}

func (s *Starts) add(w *window) {
	s.Late = max(s.Late, millis(w.late))
	first := w.first()
	if first > inTime {
		s.Slow++
	}
	if first >= w.length {
		s.Without++
		return
	}
	s.Firsts = append(s.Firsts, millis(first))
}

// key is one never used before in this run: what somebody left behind on an earlier
// one, as a process that gives up may, cannot be met.
func (b *bench) key() string {
	b.windows++
	return fmt.Sprintf("hot:%d", b.windows)
}
