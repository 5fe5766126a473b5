package report

import (
	"fmt"

	"github.com/quorumlock/go-redlock/bench/contention"
	"github.com/quorumlock/go-redlock/bench/stat"
)

// turn is one figure of a round of contention.
type turn func(contention.Figures) float64

// The figures that the tables show and the budgets bound.
func sections(f contention.Figures) float64    { return f.Sections }
func taken(f contention.Figures) float64       { return f.Taken }
func waitP50(f contention.Figures) float64     { return f.WaitP50 }
func waitP99(f contention.Figures) float64     { return f.WaitP99 }
func waitMax(f contention.Figures) float64     { return f.WaitMax }
func fewestTurns(f contention.Figures) float64 { return f.FewestTurns }
func mostTurns(f contention.Figures) float64   { return f.MostTurns }
func commands(f contention.Figures) float64    { return f.Commands }
func firstAfter(f contention.Figures) float64  { return f.First }
func gaveUp(f contention.Figures) float64      { return f.GaveUp }
func overlaps(f contention.Figures) float64    { return f.Overlaps }
func late(f contention.Figures) float64        { return f.Late }
func failed(f contention.Figures) float64      { return f.Failures }

// WaitBudgets are the promises that docs/design.md makes for waiting, of a run with
// these settings.
func WaitBudgets(s contention.Settings) []Budget[*contention.Results] {
	var all []Budget[*contention.Results]
	for _, callers := range []int{contention.Few, contention.Many} {
		all = append(all, crewBudgets(contention.Library(1, callers), limits{
			who: fmt.Sprintf("%d callers in one process", callers), of: "callers",
			sections: 0.9, wait: 1.3, commands: 24,
		})...)
	}
	for _, processes := range []int{contention.Few, s.Crowd} {
		c := contention.Library(processes, 1)
		who := fmt.Sprintf("%d processes", processes)
		all = append(all, crewBudgets(c, limits{
			who: who, of: "processes",
			sections: 0.85, wait: 1.5, commands: 34,
		})...)
		all = append(all, Budget[*contention.Results]{
			Name: who + ": fewest turns, over the most", Unit: "×", Limit: 0.8, Least: true,
			values: within(c, func(f contention.Figures) float64 { return f.FewestTurns / f.MostTurns }),
		})
	}
	queue := contention.Library(contention.Queue, 1)
	joined := queue
	joined.Newcomers = s.Newcomers
	return append(all, Budget[*contention.Results]{
		Name: fmt.Sprintf("queue of %d, %s: p99 wait, over the same without", contention.Queue, joined.Beside()),
		Unit: "×", Limit: 3,
		values: between(joined, queue, waitP99),
	})
}

type limits struct {
	who, of                  string
	sections, wait, commands float64
}

// crewBudgets are the three that every crew has, beside one caller alone.
func crewBudgets(c contention.Cell, l limits) []Budget[*contention.Results] {
	members := float64(c.Processes * c.Callers)
	return []Budget[*contention.Results]{
		{
			Name: l.who + ": sections/s, over one alone", Unit: "×", Limit: l.sections, Least: true,
			values: between(c, contention.Alone(), sections),
		},
		{
			Name: fmt.Sprintf("%s: p99 wait, over %s × a section of one alone", l.who, l.of), Unit: "×", Limit: l.wait,
			values: pairs(c, contention.Alone(), func(crew, alone contention.Figures) float64 {
				return crew.WaitP99 / (members * 1000 / alone.Sections)
			}),
		},
		{
			Name: l.who + ": commands a section", Limit: l.commands,
			values: within(c, commands),
		},
	}
}

// within is a figure of a cell as it is.
func within(c contention.Cell, m turn) func(*contention.Results) ([]float64, error) {
	return func(r *contention.Results) ([]float64, error) { return turnsOf(r, c, m), nil }
}

// between compares a figure of two cells round by round.
func between(over, under contention.Cell, m turn) func(*contention.Results) ([]float64, error) {
	return pairs(over, under, func(a, b contention.Figures) float64 { return m(a) / m(b) })
}

// pairs makes a figure of two cells round by round; a round without its partner is an
// error.
func pairs(a, b contention.Cell, m func(a, b contention.Figures) float64) func(*contention.Results) ([]float64, error) {
	return func(r *contention.Results) ([]float64, error) {
		as, bs := r.Rounds(a), r.Rounds(b)
		if len(as) != len(bs) {
			return nil, fmt.Errorf("%d rounds of %s beside %d of %s", len(as), a, len(bs), b)
		}
		var values []float64
		for i := range as {
			values = append(values, m(as[i], bs[i]))
		}
		return values, nil
	}
}

func turnsOf(r *contention.Results, c contention.Cell, m turn) []float64 {
	var values []float64
	for _, f := range r.Rounds(c) {
		values = append(values, m(f))
	}
	return values
}

// middle is the median of a cell's rounds, as it is printed; empty for none.
func middle(r *contention.Results, c contention.Cell, m turn) string {
	spread, err := stat.SpreadOf(turnsOf(r, c, m))
	if err != nil {
		return ""
	}
	return number(spread.Median)
}
