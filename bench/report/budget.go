// Package report holds the results against the budgets and writes them for people
// and for programs.
package report

import (
	"fmt"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/stat"
	"github.com/quorumlock/go-redlock/bench/suite"
)

// Verdict is what a figure is worth beside its budget.
type Verdict string

// The verdicts. A figure that is not there has none of the first two.
const (
	OK          Verdict = "ok"
	Missed      Verdict = "MISSED"
	NotMeasured Verdict = "not measured"
)

// metric picks one figure of a round.
type metric func(suite.Figures) float64

func acquireP50(f suite.Figures) float64      { return f.AcquireP50 }
func cyclesPerSecond(f suite.Figures) float64 { return f.CyclesPerSecond }
func allocs(f suite.Figures) float64          { return f.AllocsPerCycle }
func cpu(f suite.Figures) float64             { return f.CPUPerCycle }
func goroutines(f suite.Figures) float64      { return f.Goroutines }
func acquireP99(f suite.Figures) float64      { return f.AcquireP99 }
func releaseP50(f suite.Figures) float64      { return f.ReleaseP50 }
func cycleMillis(f suite.Figures) float64     { return f.CycleTime / 1000 }
func failures(f suite.Figures) float64        { return f.Failures }

// Budget is one promise about results of type R: a figure of one cell, or its ratio
// to the same figure of another, is at most or at least Limit.
type Budget[R any] struct {
	Name  string
	Unit  string
	Limit float64
	Least bool // at least Limit; at most, where false

	values func(R) ([]float64, error) // one a round; nil where nothing was measured
}

// Line is a budget with what was measured.
type Line struct {
	Name    string      `json:"name"`
	Unit    string      `json:"unit"`
	Limit   float64     `json:"limit"`
	Least   bool        `json:"at_least"`
	Spread  stat.Spread `json:"measured"`
	Verdict Verdict     `json:"verdict"`
}

// Judge holds the results against every budget: the median of the rounds decides.
func Judge[R any](r R, budgets []Budget[R]) ([]Line, error) {
	var lines []Line
	for _, b := range budgets {
		line := Line{Name: b.Name, Unit: b.Unit, Limit: b.Limit, Least: b.Least, Verdict: NotMeasured}
		values, err := b.values(r)
		if err != nil {
			return nil, fmt.Errorf("report: %s: %w", b.Name, err)
		}
		if len(values) > 0 {
			if line.Spread, err = stat.SpreadOf(values); err != nil {
				return nil, fmt.Errorf("report: %s: %w", b.Name, err)
			}
			line.Verdict = verdict(line.Spread.Median, b.Limit, b.Least)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func verdict(measured, limit float64, least bool) Verdict {
	// Written so that a NaN, which compares false, is a miss.
	if least && measured >= limit || !least && measured <= limit {
		return OK
	}
	return Missed
}

// ratio compares two cells round by round.
func ratio(m metric, over, under suite.Cell) func(*suite.Results) ([]float64, error) {
	return func(r *suite.Results) ([]float64, error) {
		a, b := pick(r, over, m), pick(r, under, m)
		if len(a) == 0 && len(b) == 0 {
			return nil, nil
		}
		return stat.Ratios(a, b)
	}
}

// plain is a figure as it is.
func plain(m metric, c suite.Cell) func(*suite.Results) ([]float64, error) {
	return func(r *suite.Results) ([]float64, error) { return pick(r, c, m), nil }
}

// ofMemory is a figure of the memory section, which has one round.
func ofMemory(m func(*suite.MemoryFigures) float64) func(*suite.Results) ([]float64, error) {
	return func(r *suite.Results) ([]float64, error) {
		if r.Memory == nil {
			return nil, nil
		}
		return []float64{m(r.Memory)}, nil
	}
}

// ofRenewal is a figure of the renewal section, which has one round.
func ofRenewal(m func(*suite.RenewalFigures) float64) func(*suite.Results) ([]float64, error) {
	return func(r *suite.Results) ([]float64, error) {
		if r.Renewal == nil {
			return nil, nil
		}
		return []float64{m(r.Renewal)}, nil
	}
}

func pick(r *suite.Results, c suite.Cell, m metric) []float64 {
	var values []float64
	for _, f := range r.Rounds(c) {
		values = append(values, m(f))
	}
	return values
}

func lib(section string, callers int) suite.Cell {
	return suite.Cell{Section: section, Contender: contender.LibraryName, Callers: callers}
}

func fenced(section string, callers int) suite.Cell {
	return suite.Cell{Section: section, Contender: contender.FencedName, Callers: callers}
}

func raw(section string, callers int) suite.Cell {
	return suite.Cell{Section: section, Contender: contender.RawName, Callers: callers}
}

func peer(section string, callers int) suite.Cell {
	return suite.Cell{Section: section, Contender: contender.RedsyncName, Callers: callers}
}
