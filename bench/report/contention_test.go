package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/contention"
	"github.com/quorumlock/go-redlock/bench/report"
)

// waits is a run of three rounds: the library just meets each of its budgets.
func waits() *contention.Results {
	r := &contention.Results{
		Nodes:  5,
		Starts: []*contention.Starts{{Contender: contender.LibraryName, Processes: 64, Firsts: []float64{9, 10, 12}, Without: 1, Slow: 2, Late: 4}},
	}
	three := func(c contention.Cell, f contention.Figures) {
		r.Rows = append(r.Rows, &contention.Row{Cell: c, Rounds: []contention.Figures{f, f, f}, Curve: []float64{0, 10, 300}})
	}
	three(contention.Alone(), contention.Figures{Sections: 400}) // a section is 2.5 ms
	three(contention.Library(1, 8), contention.Figures{Sections: 360, WaitP99: 26, Commands: 24})
	three(contention.Library(1, 32), contention.Figures{Sections: 360, WaitP99: 104, Commands: 24})
	three(contention.Library(8, 1), contention.Figures{Sections: 340, WaitP99: 30, Commands: 34, FewestTurns: 80, MostTurns: 100})
	three(contention.Library(64, 1), contention.Figures{Sections: 340, WaitP99: 240, Commands: 34, FewestTurns: 8, MostTurns: 10})
	peer := contention.Library(64, 1)
	peer.Contender = contender.RedsyncName
	three(peer, contention.Figures{Sections: 100, WaitP99: 4000, GaveUp: 7, Late: 3})
	queue := contention.Library(16, 1)
	three(queue, contention.Figures{WaitP99: 50})
	queue.Newcomers = 50
	three(queue, contention.Figures{WaitP99: 150, Taken: 49})
	return r
}

func judgeWaits(t *testing.T, r *contention.Results) map[string]report.Line {
	t.Helper()
	lines, err := report.Judge(r, report.WaitBudgets(contention.Full()))
	require.NoError(t, err)
	byName := map[string]report.Line{}
	for _, l := range lines {
		byName[l.Name] = l
	}
	require.Len(t, byName, len(lines), "names are unique")
	return byName
}

func TestEveryBudgetOfWaitingIsMetAtItsLimit(t *testing.T) {
	t.Parallel()
	for name, l := range judgeWaits(t, waits()) {
		require.Equal(t, report.OK, l.Verdict, "%s: %v", name, l.Spread)
	}
}

// Each of these makes one figure a little worse than the limit allows, and exactly
// the budgets that promise it must say so.
func TestABudgetOfWaitingThatIsMissedSaysSo(t *testing.T) {
	t.Parallel()
	few := func(f *contention.Figures) { f.Sections *= 0.99 }
	slow := func(f *contention.Figures) { f.WaitP99 *= 1.01 }
	costly := func(f *contention.Figures) { f.Commands += 0.1 }
	unfair := func(f *contention.Figures) { f.FewestTurns *= 0.99 }
	joined := contention.Library(16, 1)
	joined.Newcomers = 50
	cases := map[string]struct {
		cell  contention.Cell
		spoil func(*contention.Figures)
	}{
		"8 callers in one process: sections/s, over one alone":                       {contention.Library(1, 8), few},
		"8 callers in one process: p99 wait, over callers × a section of one alone":  {contention.Library(1, 8), slow},
		"8 callers in one process: commands a section":                               {contention.Library(1, 8), costly},
		"32 callers in one process: sections/s, over one alone":                      {contention.Library(1, 32), few},
		"32 callers in one process: p99 wait, over callers × a section of one alone": {contention.Library(1, 32), slow},
		"32 callers in one process: commands a section":                              {contention.Library(1, 32), costly},
		"8 processes: sections/s, over one alone":                                    {contention.Library(8, 1), few},
		"8 processes: p99 wait, over processes × a section of one alone":             {contention.Library(8, 1), slow},
		"8 processes: commands a section":                                            {contention.Library(8, 1), costly},
		"8 processes: fewest turns, over the most":                                   {contention.Library(8, 1), unfair},
		"64 processes: sections/s, over one alone":                                   {contention.Library(64, 1), few},
		"64 processes: p99 wait, over processes × a section of one alone":            {contention.Library(64, 1), slow},
		"64 processes: commands a section":                                           {contention.Library(64, 1), costly},
		"64 processes: fewest turns, over the most":                                  {contention.Library(64, 1), unfair},
		"queue of 16, 50 fresh processes a second: p99 wait, over the same without":  {joined, slow},
	}
	require.Len(t, cases, len(report.WaitBudgets(contention.Full())), "every budget has a case")
	for missed, c := range cases {
		r := waits()
		rounds := r.Rounds(c.cell)
		for i := range rounds {
			c.spoil(&rounds[i])
		}
		for name, l := range judgeWaits(t, r) {
			want := report.OK
			if name == missed {
				want = report.Missed
			}
			require.Equal(t, want, l.Verdict, "%s, with %s spoiled", name, missed)
		}
	}
}

func TestNoTurnsAtAllMissTheBudgetOfTurns(t *testing.T) {
	t.Parallel()
	r := waits()
	for i := range r.Rounds(contention.Library(8, 1)) {
		f := &r.Rounds(contention.Library(8, 1))[i]
		f.FewestTurns, f.MostTurns = 0, 0
	}
	require.Equal(t, report.Missed, judgeWaits(t, r)["8 processes: fewest turns, over the most"].Verdict)
}

func TestWaitsThatWereNotMeasuredAreNeitherOKNorMissed(t *testing.T) {
	t.Parallel()
	for name, l := range judgeWaits(t, &contention.Results{}) {
		require.Equal(t, report.NotMeasured, l.Verdict, name)
	}
	r := waits()
	r.Rows[0].Rounds = r.Rows[0].Rounds[:2]
	_, err := report.Judge(r, report.WaitBudgets(contention.Full()))
	require.ErrorContains(t, err, "3 rounds of redlock, 1 × 8 beside 2 of redlock, 1 × 1")
}

func waitDocument(t *testing.T) *report.WaitDocument {
	t.Helper()
	r := waits()
	for i := range r.Rounds(contention.Library(64, 1)) {
		r.Rounds(contention.Library(64, 1))[i].Commands = 40
	}
	lines, err := report.Judge(r, report.WaitBudgets(contention.Full()))
	require.NoError(t, err)
	return &report.WaitDocument{
		Command: "the command", Machine: report.Machine{CPU: "a CPU", Cores: 2, Redis: "redis-server 7"},
		Settings: contention.Full(), Budgets: lines, Results: r,
	}
}

func TestThePageOfWaitsShowsWhatWasMissedAndWhoWasBeside(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	doc := waitDocument(t)
	require.NoError(t, doc.WriteMarkdown(&out))
	text := out.String()
	require.Regexp(t, `\| 64 processes: commands a section +\| ≤ 34 +\| 40 +\| 40 +\| 40 +\| MISSED +\|`, text)
	require.Regexp(t, `\| 8 processes: fewest turns, over the most +\| ≥ 0.800 × +\| 0.800 × +\| .* ok +\|`, text)
	require.Regexp(t, `\| 64 +\| 1 +\| redsync +\| 100 +\| 0 +\| 4000 +\| 0 +\| 0 +\| 0 +\| 0 +\| 0 +\| 7 +\| 0 +\| 0 +\| 3 +\|`, text)
	require.Regexp(t, `\| 50 fresh processes a second +\| 0 +\| 49 +\|`, text)
	require.Regexp(t, `\| nobody +\|`, text)
	require.Regexp(t, `\| 64 +\| redlock +\| 4 +\| 1 +\| 2 +\| 10 +\| 9 +\| 12 +\| 4 +\|`, text, "the starts")
	for _, part := range []string{"`the command`", "a CPU, 2 cores", "5 × redis-server 7", "hold it for 2 ms", "without a section in 150 ms"} {
		require.Contains(t, text, part)
	}
	require.Equal(t, 1, strings.Count(text, "MISSED"))
	require.NotContains(t, text, "![", "there is no plot")
	require.NotContains(t, text, "%!", "a format and its values")

	out.Reset()
	doc.Plot = "waits.svg"
	require.NoError(t, doc.WriteMarkdown(&out))
	require.Contains(t, out.String(), "](waits.svg)")
}

func TestThePlotHasALineForEveryContenderThatWaited(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, waitDocument(t).WritePlot(&out))
	texts := map[string]int{}
	for dec := xml.NewDecoder(&out); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "it is well-formed")
		if text, ok := token.(xml.CharData); ok {
			texts[string(text)]++
		}
	}
	require.Equal(t, 1, texts["8 processes, one key, held for 2 ms"])
	require.Equal(t, 1, texts["64 processes, one key, held for 2 ms"])
	require.Equal(t, 2, texts[contender.LibraryName], "in both legends")
	require.Equal(t, 1, texts[contender.RedsyncName], "it was measured with 64 only")
	require.Equal(t, 2, texts["1000"], "both axes end at the same power of ten, beyond the longest wait of 300 ms")
	require.Zero(t, texts["10000"])
}

func TestThePlotOfNothingIsAnEmptyOne(t *testing.T) {
	t.Parallel()
	d := &report.WaitDocument{Settings: contention.Full(), Results: &contention.Results{}}
	require.NoError(t, d.WritePlot(io.Discard))
}

func TestJSONHasEveryRoundOfWaits(t *testing.T) {
	t.Parallel()
	want := waitDocument(t)
	var out bytes.Buffer
	require.NoError(t, want.WriteJSON(&out))
	var got report.WaitDocument
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, want, &got)
}
