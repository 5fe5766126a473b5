package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quorumlock/go-redlock/bench/suite"
)

const preface = `# Benchmarks

Written by the program in bench/ in one run. A cycle is an acquire and its release by one caller, each caller on a key
of its own. Times of calls are in microseconds. Allocations and CPU are of the client's process, a cycle; the nodes
are processes of their own, on the same cores. The goroutines are the most that were seen at once, callers included,
without those that were there before.

`

var titles = map[string]string{
	suite.Healthy:    "All nodes healthy, on loopback",
	suite.Link:       "A simulated round trip of 1 ms to every node",
	suite.BeforeStop: "Before one node is stopped",
	suite.Stopped:    "One node stopped (SIGSTOP)",
}

var notes = map[string]string{
	suite.Healthy: "\"raw, all nodes at once\" sends the raw SET to every node from a goroutine of its own and waits for the " +
		"third answer: what any lock on a majority costs here at the least, with this client and these cores.",
	suite.Link: "The relay between client and nodes is a process of its own: its CPU is not counted, " +
		"but it shares the cores with everything else.",
}

// peersNote stands under the waits of redsync while a node is stopped.
const peersNote = "One caller, one cycle after the other. \"redsync\" is on go-redis's default options; \"timeouts honoured\" is " +
	"on clients that carry redsync's own limit of 400 ms, with `ContextTimeoutEnabled` and no retries."

// page is Markdown under construction.
type page struct{ strings.Builder }

func (p *page) heading(text string) { fmt.Fprintf(p, "## %s\n\n", text) }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n\n", args...) }

// table writes rows, the first of which is the head, with padded columns.
func (p *page) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(p, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		p.WriteString("|\n")
		if n == 0 {
			for _, width := range widths {
				p.WriteString("|" + strings.Repeat("-", width+2))
			}
			p.WriteString("|\n")
		}
	}
	p.WriteString("\n")
}

func memory(m *suite.MemoryFigures) [][]string {
	return [][]string{
		{"what", "measured"},
		{"idle Locker, its clients included, no connection", quantity(m.IdleLockerBytes, "B")},
		{"held lock, without the key's name", quantity(m.HeldLockBytes, "B")},
		{"locks held at once", fmt.Sprintf("%d, taken in %.1f s", m.Held, m.AcquireSeconds)},
		{"of these, unlocked", fmt.Sprintf("%d, in %.1f s", m.Released, m.ReleaseSeconds)},
		{"keys on all nodes, while held", strconv.FormatInt(m.KeysHeld, 10)},
		{"keys on all nodes, after", strconv.FormatInt(m.KeysLeft, 10)},
		{"counters that fenced locks left on one node", strconv.FormatInt(m.Counters, 10)},
		{"of that node's memory, each", quantity(m.CounterBytes, "B")},
	}
}

func renewal(f *suite.RenewalFigures) [][]string {
	return [][]string{
		{"what", "measured"},
		{"locks, kept from the first to the last", strconv.Itoa(f.Kept)},
		{"locks lost", strconv.Itoa(f.Lost)},
		{"renewals a second", number(f.Renewals)},
		{"measured for", quantity(f.Seconds, "s")},
		{"client CPU, of one core", quantity(100*f.Cores, "%")},
		{"goroutines", strconv.Itoa(f.Goroutines)},
	}
}

func quantity(v float64, unit string) string {
	if unit == "" {
		return number(v)
	}
	return number(v) + " " + unit
}

// number writes three digits that count, or all digits before the point.
func number(v float64) string {
	switch size := max(v, -v); {
	case v == float64(int64(v)) || size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
}
