package report_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/report"
	"github.com/quorumlock/go-redlock/bench/stat"
	"github.com/quorumlock/go-redlock/bench/suite"
)

const (
	allocations = "allocations a cycle, 128 callers (45 wanted)"
	cycles128   = "cycles/s, 128 callers, over redsync"
)

// run is a run of three rounds with every cell that a budget asks for: the library
// just meets each of them.
func run() *suite.Results {
	r := &suite.Results{
		Nodes: 5,
		Peers: []*suite.PeerWait{{Contender: contender.RedsyncName, Seconds: []float64{9, 10, 12}, Failures: 1}},
		Memory: &suite.MemoryFigures{
			IdleLockerBytes: 64 << 10, HeldLockBytes: 1 << 10, Held: 100_000, Released: 100_000, KeysHeld: 500_000,
		},
	}
	r.Renewal = &suite.RenewalFigures{Kept: 10_000, Cores: 0.1, Goroutines: 10_028, Seconds: 30}
	three := func(section, name string, callers int, f suite.Figures) {
		c := suite.Cell{Section: section, Contender: name, Callers: callers}
		r.Rows = append(r.Rows, &suite.Row{Cell: c, Rounds: []suite.Figures{f, f, f}})
	}
	figures := func(p50, cycles float64) suite.Figures {
		return suite.Figures{AcquireP50: p50, CyclesPerSecond: cycles, AllocsPerCycle: 62, CPUPerCycle: 10, Goroutines: 156}
	}
	peer := figures(200, 100)
	peer.CPUPerCycle = 120
	three(suite.Healthy, contender.RawName, suite.Alone, figures(10, 1))
	three(suite.Healthy, contender.LibraryName, suite.Alone, figures(13, 1))
	three(suite.Healthy, contender.RedsyncName, suite.Many, peer)
	three(suite.Healthy, contender.LibraryName, suite.Many, figures(20, 1000))
	three(suite.Healthy, contender.FencedName, suite.Many, figures(20, 600))
	three(suite.Healthy, contender.RedsyncName, suite.Crowd, peer)
	three(suite.Healthy, contender.LibraryName, suite.Crowd, figures(30, 1200))
	three(suite.Link, contender.RawName, suite.Alone, figures(100, 1))
	three(suite.Link, contender.LibraryName, suite.Alone, figures(115, 1))
	three(suite.Link, contender.RawName, suite.Some, figures(100, 1))
	three(suite.Link, contender.LibraryName, suite.Some, figures(160, 1))
	three(suite.Link, contender.RedsyncName, suite.Many, peer)
	three(suite.Link, contender.LibraryName, suite.Many, figures(100, 1))
	for _, callers := range []int{suite.Alone, suite.Many} {
		three(suite.BeforeStop, contender.LibraryName, callers, figures(10, 100))
		three(suite.Stopped, contender.LibraryName, callers, figures(12, 80))
	}
	return r
}

func judge(t *testing.T, r *suite.Results) map[string]report.Line {
	t.Helper()
	lines, err := report.Judge(r, report.Budgets(5, suite.Full()))
	require.NoError(t, err)
	byName := map[string]report.Line{}
	for _, l := range lines {
		byName[l.Name] = l
	}
	require.Len(t, byName, len(lines), "names are unique")
	return byName
}

func of(r *suite.Results, section, name string, callers int) []suite.Figures {
	return r.Rounds(suite.Cell{Section: section, Contender: name, Callers: callers})
}

func TestEveryBudgetIsMetAtItsLimit(t *testing.T) {
	t.Parallel()
	for name, l := range judge(t, run()) {
		require.Equal(t, report.OK, l.Verdict, "%s: %v", name, l.Spread)
	}
}

// Each of these makes one figure a little worse than the limit allows, and exactly
// the budgets that promise it must say so.
func TestABudgetThatIsMissedSaysSo(t *testing.T) {
	t.Parallel()
	worse := func(section, name string, callers int, spoil func(*suite.Figures)) func(*suite.Results) {
		return func(r *suite.Results) {
			rounds := of(r, section, name, callers)
			for i := range rounds {
				spoil(&rounds[i])
			}
		}
	}
	slow := func(f *suite.Figures) { f.AcquireP50 *= 1.01 }
	few := func(f *suite.Figures) { f.CyclesPerSecond *= 0.99 }
	const lib = contender.LibraryName
	cases := map[string]func(*suite.Results){
		"acquire p50 alone, over a raw SET":                          worse(suite.Healthy, lib, suite.Alone, slow),
		cycles128:                                                    worse(suite.Healthy, lib, suite.Many, few),
		"cycles/s, 512 callers, over redsync":                        worse(suite.Healthy, lib, suite.Crowd, few),
		allocations:                                                  worse(suite.Healthy, lib, suite.Many, func(f *suite.Figures) { f.AllocsPerCycle = 62.1 }),
		"client CPU a cycle, 128 callers, over redsync":              worse(suite.Healthy, lib, suite.Many, func(f *suite.Figures) { f.CPUPerCycle *= 1.01 }),
		"1 ms round trip: acquire p50, 1 caller, over raw":           worse(suite.Link, lib, suite.Alone, slow),
		"1 ms round trip: acquire p50, 16 callers, over raw with 16": worse(suite.Link, lib, suite.Some, slow),
		"1 ms round trip: acquire p50, 128 callers, over redsync":    worse(suite.Link, lib, suite.Many, slow),
		"one node stopped: acquire p50 alone, over healthy":          worse(suite.Stopped, lib, suite.Alone, slow),
		"one node stopped: acquire p50, 128 callers, over healthy":   worse(suite.Stopped, lib, suite.Many, slow),
		"one node stopped: cycles/s, 128 callers, over healthy":      worse(suite.Stopped, lib, suite.Many, few),
		"one node stopped: goroutines, 128 callers":                  worse(suite.Stopped, lib, suite.Many, func(f *suite.Figures) { f.Goroutines++ }),
		"one node stopped: failed cycles, 128 callers":               worse(suite.Stopped, lib, suite.Many, func(f *suite.Figures) { f.Failures++ }),
		"fencing on: cycles/s, 128 callers, over plain":              worse(suite.Healthy, contender.FencedName, suite.Many, few),
		"10000 locks kept alive, TTL 9s: client CPU, of one core":    func(r *suite.Results) { r.Renewal.Cores += 0.001 },
		"10000 locks kept alive, TTL 9s: goroutines":                 func(r *suite.Results) { r.Renewal.Goroutines++ },
		"10000 locks kept alive, TTL 9s: lost":                       func(r *suite.Results) { r.Renewal.Lost++ },
		"heap of an idle Locker of 5 nodes, no connections":          func(r *suite.Results) { r.Memory.IdleLockerBytes++ },
		"heap of a held lock":                                        func(r *suite.Results) { r.Memory.HeldLockBytes++ },
		"locks held at once":                                         func(r *suite.Results) { r.Memory.Held-- },
		"of these, unlocked":                                         func(r *suite.Results) { r.Memory.Released-- },
		"keys left on all nodes after that":                          func(r *suite.Results) { r.Memory.KeysLeft++ },
	}
	require.Len(t, cases, len(report.Budgets(5, suite.Full())), "every budget has a case")
	for missed, spoil := range cases {
		r := run()
		spoil(r)
		for name, l := range judge(t, r) {
			want := report.OK
			if name == missed {
				want = report.Missed
			}
			require.Equal(t, want, l.Verdict, "%s, with %s spoiled", name, missed)
		}
	}
}

func TestTheMedianOfTheRoundsDecides(t *testing.T) {
	t.Parallel()
	r := run()
	rounds := of(r, suite.Healthy, contender.LibraryName, suite.Many)
	rounds[0].CyclesPerSecond = 100 // 1 ×, and the budget is 10 ×
	line := judge(t, r)[cycles128]
	require.Equal(t, report.OK, line.Verdict, "one bad round of three")
	require.Equal(t, stat.Spread{Median: 10, Least: 1, Most: 10}, line.Spread)
	rounds[1].CyclesPerSecond = 100
	require.Equal(t, report.Missed, judge(t, r)[cycles128].Verdict, "two bad rounds of three")
}

func TestWhatIsNoNumberMissesItsBudget(t *testing.T) {
	t.Parallel()
	r := run()
	rounds := of(r, suite.Healthy, contender.LibraryName, suite.Many)
	for i := range rounds {
		rounds[i].AllocsPerCycle = math.NaN()
	}
	require.Equal(t, report.Missed, judge(t, r)[allocations].Verdict)
}

func TestWhatWasNotMeasuredIsNeitherOKNorMissed(t *testing.T) {
	t.Parallel()
	for name, l := range judge(t, &suite.Results{Nodes: 5}) {
		require.Equal(t, report.NotMeasured, l.Verdict, name)
	}
}

func TestARoundThatLacksItsPartnerIsAnError(t *testing.T) {
	t.Parallel()
	r := run()
	r.Rows[0].Rounds = r.Rows[0].Rounds[:2]
	_, err := report.Judge(r, report.Budgets(5, suite.Full()))
	require.ErrorContains(t, err, "acquire p50 alone, over a raw SET: stat: 3 rounds over 2")
}

func document(t *testing.T) *report.Document {
	t.Helper()
	r := run()
	r.Memory.HeldLockBytes = 2048
	lines, err := report.Judge(r, report.Budgets(5, suite.Full()))
	require.NoError(t, err)
	return &report.Document{
		Command: "the command", Machine: report.Machine{CPU: "a CPU", Cores: 2, Redis: "redis-server 7"},
		Settings: suite.Full(), Budgets: lines, Results: r,
	}
}

func TestMarkdownShowsTheMissedBudgetAndWhatWasMeasuredOnWhat(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, document(t).WriteMarkdown(&out))
	text := out.String()
	require.Regexp(t, `\| heap of a held lock +\| ≤ 1024 B +\| 2048 B +\| 2048 B +\| 2048 B +\| MISSED +\|`, text)
	require.Regexp(t, `\| cycles/s, 128 callers, over redsync +\| ≥ 10 × +\| 10 × +\| 10 × +\| 10 × +\| ok +\|`, text)
	require.Regexp(t, `\| redsync +\| 10 s +\| 9 s +\| 12 s +\| 1 +\|`, text)
	for _, part := range []string{"`the command`", "a CPU, 2 cores", "5 × redis-server 7", "One node stopped"} {
		require.Contains(t, text, part)
	}
	require.Equal(t, 1, strings.Count(text, "MISSED"))
}

func TestJSONHasEveryRound(t *testing.T) {
	t.Parallel()
	want := document(t)
	var out bytes.Buffer
	require.NoError(t, want.WriteJSON(&out))
	var got report.Document
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, want, &got)
}
