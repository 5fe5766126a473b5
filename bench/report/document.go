package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/quorumlock/go-redlock/bench/stat"
	"github.com/quorumlock/go-redlock/bench/suite"
)

// Document is one run with everything that is needed to judge and repeat it.
type Document struct {
	Command  string         `json:"command"`
	Machine  Machine        `json:"machine"`
	Settings suite.Settings `json:"settings"`
	Budgets  []Line         `json:"budgets"`
	Results  *suite.Results `json:"results"`
}

// WriteJSON writes all of it, every round included.
func (d *Document) WriteJSON(w io.Writer) error { return writeJSON(w, d) }

func writeJSON(w io.Writer, document any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// WriteMarkdown writes a whole page: the machine, the budgets and the medians of all
// figures, as tables whose columns also line up in a terminal.
func (d *Document) WriteMarkdown(w io.Writer) error {
	var p page
	p.WriteString(preface)
	p.heading("Machine and command")
	p.table(d.machine())
	p.line("`%s`, %s", d.Command, d.rounds())
	p.heading("Budgets")
	p.line("Ratios are of the same round; the median of the rounds decides.")
	p.table(budgetRows(d.Budgets))
	for _, section := range []string{suite.Healthy, suite.Link, suite.BeforeStop, suite.Stopped} {
		if rows := d.figures(section); len(rows) > 1 {
			p.heading(titles[section])
			p.table(rows)
			if note := notes[section]; note != "" {
				p.line("%s", note)
			}
		}
	}
	if len(d.Results.Peers) > 0 {
		p.heading("Meanwhile, a cycle of redsync")
		p.table(d.waits())
		p.line(peersNote)
	}
	if f := d.Results.Renewal; f != nil {
		p.heading("Many locks kept alive")
		p.table(renewal(f))
	}
	if m := d.Results.Memory; m != nil {
		p.heading("Memory")
		p.table(memory(m))
	}
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func (d *Document) rounds() string {
	if d.Settings.Rounds == 1 {
		return "one round: too short a run for its figures to mean much"
	}
	return fmt.Sprintf("%d rounds, in each of which the contenders take turns %d times a figure",
		d.Settings.Rounds, d.Settings.Slices)
}

func (d *Document) machine() [][]string {
	m := d.Machine
	return append(m.rows(d.Results.Nodes), [][]string{
		{"raw", fmt.Sprintf("go-redis %s on default options, %d connections at most", m.GoRedis, 10*m.Cores)},
		{"redsync", fmt.Sprintf("%s as in its README: default options, the same clients, one a node", m.Redsync)},
		{"redlock", "`Open` on default options, `Lock` and `Unlock`"},
		{"redlock, fenced", "the same with `WithFencing`"},
	}...)
}

func budgetRows(lines []Line) [][]string {
	rows := [][]string{{"what", "budget", "median", "least", "most", "verdict"}}
	for _, l := range lines {
		sign := "≤"
		if l.Least {
			sign = "≥"
		}
		row := []string{l.Name, sign + " " + quantity(l.Limit, l.Unit), "", "", "", string(l.Verdict)}
		if l.Verdict != NotMeasured {
			row[2] = quantity(l.Spread.Median, l.Unit)
			row[3], row[4] = quantity(l.Spread.Least, l.Unit), quantity(l.Spread.Most, l.Unit)
		}
		rows = append(rows, row)
	}
	return rows
}

// waits is the time of a redsync cycle while a node is stopped.
func (d *Document) waits() [][]string {
	rows := [][]string{{"contender", "median", "least", "most", "failed"}}
	for _, w := range d.Results.Peers {
		spread, err := stat.SpreadOf(w.Seconds)
		if err != nil {
			continue // cannot happen: it is made with its first round
		}
		rows = append(rows, []string{
			w.Contender, quantity(spread.Median, "s"), quantity(spread.Least, "s"), quantity(spread.Most, "s"),
			fmt.Sprint(w.Failures),
		})
	}
	return rows
}

// figures is the medians over the rounds of every cell of a section.
func (d *Document) figures(section string) [][]string {
	rows := [][]string{{
		"callers", "contender", "acquire p50 µs", "acquire p99 µs", "release p50 µs",
		"cycle ms", "cycles/s", "allocations", "CPU µs", "goroutines", "failed",
	}}
	for _, row := range d.Results.Rows {
		if row.Section != section {
			continue
		}
		mid := func(m metric) string {
			values := pick(d.Results, row.Cell, m)
			spread, err := stat.SpreadOf(values)
			if err != nil {
				return "" // cannot happen: a row is made with its first round
			}
			return number(spread.Median)
		}
		rows = append(rows, []string{
			fmt.Sprint(row.Callers), row.Contender, mid(acquireP50), mid(acquireP99), mid(releaseP50),
			mid(cycleMillis), mid(cyclesPerSecond), mid(allocs), mid(cpu), mid(goroutines), mid(failures),
		})
	}
	return rows
}
