package report

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/contention"
	"github.com/quorumlock/go-redlock/bench/stat"
)

const waitPreface = `# Contention

Written by the program in bench/ in one run. A section is to have the one hot key, to hold it for %s and to release it; whoever
has released it asks again at once. All processes are started before, have their connections, and are let loose by a barrier.
Waits are in milliseconds. A wait counts if it began in the window, however much later it ended; one that had not ended %s after
the window counts with what it had lasted. Turns are those of the caller with the fewest and of the one with the most. Commands
are what clients sent to all nodes, without what scripts call. Clients, nodes and all share the cores; "timer late" is by how much
a bare timer was too late meanwhile, at worst, in milliseconds.

`

const wayNote = "Each waits as its documentation has it. \"bsm/redislock\" locks on one node only, and asks again every 100 ms; " +
	"redsync asks again after 50 to 250 ms on all nodes, on its default options. `rueidislock` is missing: it could not be had as a module " +
	"where this was built."

const besideNote = "Waits, turns and sections/s are the queue's, of 16 processes that call `Lock`. `TryLock` does not queue: a loop of it barges " +
	"past those who wait, and takes from their turns. A fresh process starts, calls `Lock` once, and ends; on keys of their own they show what " +
	"their mere starting costs the machine."

const startsNote = "Each start is on a key of its own. One without a section is one in which the votes split, and split again, until the " +
	"window's end, or in which the machine did not get round to it."

// WaitDocument is one run of the contention benchmark.
type WaitDocument struct {
	Command  string              `json:"command"`
	Machine  Machine             `json:"machine"`
	Settings contention.Settings `json:"settings"`
	Budgets  []Line              `json:"budgets"`
	Results  *contention.Results `json:"results"`
	// Plot is the file of the plot, as the page links it; empty for none.
	Plot string `json:"-"`
}

// WriteJSON writes all of it, every round included.
func (d *WaitDocument) WriteJSON(w io.Writer) error { return writeJSON(w, d) }

// WriteMarkdown writes a whole page: the machine, the budgets and the medians of all
// figures.
func (d *WaitDocument) WriteMarkdown(w io.Writer) error {
	var p page
	fmt.Fprintf(&p, waitPreface, span(d.Settings.Hold), span(d.Settings.Drain))
	p.heading("Machine and command")
	p.table(d.machine())
	p.line("`%s`, %s", d.Command, d.rounds())
	p.heading("Budgets")
	p.line("Ratios are of the same round; the median of the rounds decides.")
	p.table(budgetRows(d.Budgets))
	p.heading("One key, side by side")
	p.table(d.sideBySide())
	p.line(wayNote)
	if d.Plot != "" {
		p.line("![How many of the waits are over after so many milliseconds](%s)", d.Plot)
	}
	if rows := d.beside(); len(rows) > 1 {
		p.heading("A queue, and who does not wait in it")
		p.table(rows)
		p.line(besideNote)
	}
	if len(d.Results.Starts) > 0 {
		p.heading("All at once")
		p.table(d.starts())
		p.line(startsNote)
	}
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func (d *WaitDocument) machine() [][]string {
	m := d.Machine
	return append(m.rows(d.Results.Nodes), [][]string{
		{contender.RedsyncName, m.Redsync + ", `LockContext`, go-redis " + m.GoRedis},
		{contender.RedislockName, m.Redislock + ", `Obtain` with `LinearBackoff`, go-redis " + m.GoRedis},
		{contender.LibraryName, "`Open` on default options, `Lock` and `Unlock`"},
	}...)
}

func (d *WaitDocument) rounds() string {
	s := d.Settings
	if s.Rounds == 1 {
		return "one round: too short a run for its figures to mean much"
	}
	return fmt.Sprintf("%d rounds of %s a figure, %s with %d processes; the peers of %d, and so the queues, %s a figure",
		s.Rounds, span(s.Window), span(s.CrowdWindow), s.Crowd, s.SideRounds, span(s.QueueWindow))
}

// span writes a setting.
func span(d time.Duration) string {
	if d < time.Second {
		return quantity(float64(d)/float64(time.Millisecond), "ms")
	}
	return quantity(d.Seconds(), "s")
}

func (d *WaitDocument) sideBySide() [][]string {
	rows := [][]string{{
		"processes", "callers", "contender", "sections/s", "wait p50", "wait p99", "wait max", "fewest turns", "most turns",
		"commands", "first after", "unfinished", "overlaps", "failed", "timer late",
	}}
	for _, row := range d.Results.Rows {
		if row.Processes != contention.Queue {
			rows = append(rows, d.row(
				row.Cell, []string{fmt.Sprint(row.Processes), fmt.Sprint(row.Callers), row.Contender},
				sections, waitP50, waitP99, waitMax, fewestTurns, mostTurns, commands, firstAfter, gaveUp, overlaps, failed, late,
			))
		}
	}
	return rows
}

func (d *WaitDocument) beside() [][]string {
	rows := [][]string{{
		"beside the queue", "queue's sections/s", "taken beside it/s", "wait p50", "wait p99", "wait max", "fewest turns", "most turns",
		"overlaps", "failed", "timer late",
	}}
	for _, row := range d.Results.Rows {
		if row.Processes == contention.Queue {
			rows = append(rows, d.row(
				row.Cell, []string{cmp.Or(row.Beside(), "nobody")},
				sections, taken, waitP50, waitP99, waitMax, fewestTurns, mostTurns, overlaps, failed, late,
			))
		}
	}
	return rows
}

// row is some cells of a table, and the medians of a cell's rounds behind them.
func (d *WaitDocument) row(c contention.Cell, cells []string, figures ...turn) []string {
	for _, m := range figures {
		cells = append(cells, middle(d.Results, c, m))
	}
	return cells
}

func (d *WaitDocument) starts() [][]string {
	window := "without a section in " + span(d.Settings.StartWindow)
	rows := [][]string{{
		"processes", "contender", "starts", window, "later than 100 ms", "first section after: median ms", "least", "most", "timer late",
	}}
	for _, s := range d.Results.Starts {
		row := []string{
			fmt.Sprint(s.Processes), s.Contender, fmt.Sprint(len(s.Firsts) + s.Without), fmt.Sprint(s.Without), fmt.Sprint(s.Slow), "", "", "", number(s.Late),
		}
		if spread, err := stat.SpreadOf(s.Firsts); err == nil {
			row[5], row[6], row[7] = number(spread.Median), number(spread.Least), number(spread.Most)
		}
		rows = append(rows, row)
	}
	return rows
}
