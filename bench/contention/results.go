package contention

import (
	"fmt"
	"time"

	"github.com/quorumlock/go-redlock/bench/stat"
)

// Cell names one row of the tables.
type Cell struct {
	Contender string `json:"contender"`
	Processes int    `json:"processes"`
	Callers   int    `json:"callers"` // in each process
	Loops     int    `json:"loops,omitempty"`
	// Newcomers is how many fresh processes a second take one turn each: on the hot
	// key, or Elsewhere, which shows what their mere starting costs.
	Newcomers int  `json:"newcomers_per_second,omitempty"`
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// String is for messages: "redlock, 16 × 1, 4 loops".
func (c Cell) String() string {
	text := fmt.Sprintf("%s, %d × %d", c.Contender, c.Processes, c.Callers)
	if beside := c.Beside(); beside != "" {
		text += ", beside " + beside
	}
	return text
}

// Beside says who else is at the key; empty for nobody.
func (c Cell) Beside() string {
	switch {
	case c.Loops == 1:
		return "1 loop of TryLock"
	case c.Loops > 1:
		return fmt.Sprintf("%d loops of TryLock", c.Loops)
	case c.Elsewhere:
		return fmt.Sprintf("%d fresh processes a second, on keys of their own", c.Newcomers)
	case c.Newcomers > 0:
		return fmt.Sprintf("%d fresh processes a second", c.Newcomers)
	default:
		return ""
	}
}

// Figures is what one round saw in one cell. Waits are in milliseconds, and, like
// turns, those of the crew; who is beside it shows in Taken and Commands only.
type Figures struct {
	Sections    float64 `json:"sections_per_second"`
	Taken       float64 `json:"taken_per_second"` // sections of who is beside
	WaitP50     float64 `json:"wait_p50_ms"`
	WaitP99     float64 `json:"wait_p99_ms"`
	WaitMax     float64 `json:"wait_max_ms"`
	FewestTurns float64 `json:"fewest_turns"`
	MostTurns   float64 `json:"most_turns"`
	Commands    float64 `json:"commands_per_section"`
	First       float64 `json:"first_section_ms"` // since the barrier; the whole window where there was none
	GaveUp      float64 `json:"gave_up"`          // waits that had not ended at the drain's end
	Failures    float64 `json:"failures"`
	Overlaps    float64 `json:"overlaps"` // sections that began before another's end
	Late        float64 `json:"late_ms"`  // how late a bare timer was meanwhile, at worst
}

// Row is a cell with its rounds in order, and the waits of all of them.
type Row struct {
	Cell
	Rounds []Figures `json:"rounds"`
	// Curve is the waits' distribution in milliseconds: quantile i of steps-1.
	Curve []float64 `json:"wait_curve_ms"`

	waits stat.Histogram
}

// Starts is what became of a crowd that was let loose on a free key, several times.
type Starts struct {
	Contender string    `json:"contender"`
	Processes int       `json:"processes"`
	Firsts    []float64 `json:"first_section_ms"` // of the starts that had one within the window
	Without   int       `json:"without_a_section"`
	Slow      int       `json:"later_than_100_ms"` // or without one
	Late      float64   `json:"late_ms"`           // how late a bare timer was meanwhile, at worst
}

// Results is everything a run measured. Rows are in the order of measuring.
type Results struct {
	Nodes  int       `json:"nodes"`
	Rows   []*Row    `json:"rows"`
	Starts []*Starts `json:"starts"`
}

// Rounds returns the rounds of a cell, nil where it was not measured.
func (r *Results) Rounds(c Cell) []Figures {
	if row := r.Row(c); row != nil {
		return row.Rounds
	}
	return nil
}

// Row returns a cell's row, nil where it was not measured.
func (r *Results) Row(c Cell) *Row {
	for _, row := range r.Rows {
		if row.Cell == c {
			return row
		}
	}
	return nil
}

func (r *Results) add(c Cell, f Figures, waits []time.Duration) {
	row := r.Row(c)
	if row == nil {
		row = &Row{Cell: c}
		r.Rows = append(r.Rows, row)
	}
	row.Rounds = append(row.Rounds, f)
	for _, w := range waits {
		row.waits.Record(w)
	}
	row.Curve = curve(&row.waits)
}

// steps of a curve: fine enough to show its last percent.
const steps = 400

func curve(h *stat.Histogram) []float64 {
	points := make([]float64, steps+1)
	for i := range points {
		points[i] = millis(h.Quantile(float64(i) / steps))
	}
	return points
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
