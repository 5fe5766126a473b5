package contention

import (
	"slices"
	"time"

	"github.com/quorumlock/go-redlock/bench/crew"
)

// window is one slice of one cell, as it was seen.
type window struct {
	length   time.Duration
	callers  int            // in each process of the crew
	crew     []*crew.Report // one a process
	beside   []*crew.Report // of loops and newcomers on the same key
	away     []*crew.Report // of newcomers on keys of their own
	commands int64          // that all nodes were sent in it
	late     time.Duration  // a bare timer, at worst
}

// all are whose failures count.
func (w *window) all() []*crew.Report { return slices.Concat(w.crew, w.beside, w.away) }

// figures reduces a window, and returns the waits of the crew.
//
// A turn counts where the lock was had inside the window. A wait counts where it
// began there, however much later it ended; one that did not end by the drain's end
// counts with what it had lasted.
func (w *window) figures() (Figures, []time.Duration) {
	turns := w.turns()
	waits := w.waits()
	sections := sum(turns)
	taken := 0
	for _, r := range w.beside {
		taken += w.within(r.Turns)
	}
	seconds := w.length.Seconds()
	f := Figures{
		Sections:    float64(sections) / seconds,
		Taken:       float64(taken) / seconds,
		WaitP50:     millis(quantile(waits, 0.50)),
		WaitP99:     millis(quantile(waits, 0.99)),
		WaitMax:     millis(quantile(waits, 1)),
		FewestTurns: float64(slices.Min(turns)),
		MostTurns:   float64(slices.Max(turns)),
		First:       millis(w.first()),
		Overlaps:    float64(w.overlaps()),
		Late:        millis(w.late),
	}
	if sections+taken > 0 {
		f.Commands = float64(w.commands) / float64(sections+taken)
	}
	for _, r := range w.crew {
		f.GaveUp += float64(len(r.GaveUp))
	}
	for _, r := range w.all() {
		f.Failures += float64(r.Failures)
	}
	return f, waits
}

// turns is how many each caller of the crew had, those without any included.
func (w *window) turns() []int {
	var all []int
	for _, r := range w.crew {
		each := make([]int, w.callers)
		for _, t := range r.Turns {
			if t.Had < w.length {
				each[t.Caller]++
			}
		}
		all = append(all, each...)
	}
	return all
}

func (w *window) within(turns []crew.Turn) int {
	n := 0
	for _, t := range turns {
		if t.Had < w.length {
			n++
		}
	}
	return n
}

func (w *window) waits() []time.Duration {
	var all []time.Duration
	for _, r := range w.crew {
		for _, t := range r.Turns {
			all = append(all, t.Had-t.Asked)
		}
		all = append(all, r.GaveUp...)
	}
	slices.Sort(all)
	return all
}

// first is when the first section began; the window's length where none did.
func (w *window) first() time.Duration {
	first := w.length
	for _, r := range w.crew {
		for _, t := range r.Turns {
			first = min(first, t.Had)
		}
	}
	return first
}

// overlaps counts the sections that began while an earlier one had not ended. The
// processes' clocks are one, so this is exact to the reading of it.
func (w *window) overlaps() int {
	var all []crew.Turn
	for _, r := range slices.Concat(w.crew, w.beside) {
		all = append(all, r.Turns...)
	}
	slices.SortFunc(all, func(a, b crew.Turn) int { return int(a.Had - b.Had) })
	n := 0
	var end time.Duration
	for _, t := range all {
		if t.Had < end {
			n++
		}
		end = max(end, t.Left)
	}
	return n
}

func sum(turns []int) int {
	n := 0
	for _, t := range turns {
		n += t
	}
	return n
}

// quantile is of sorted waits, and zero of none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
