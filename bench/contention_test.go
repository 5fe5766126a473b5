package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/report"
)

// Nothing is asserted on speed or fairness here: a loaded machine must not fail this.
func TestQuickContentionMeasuresEveryBudgetAndNothingOverlaps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	jsonFile, markdown, plot := filepath.Join(dir, "run.json"), filepath.Join(dir, "run.md"), filepath.Join(dir, "run.svg")
	var out, progress bytes.Buffer
	args := []string{contentionWord, "-quick", "-json", jsonFile, "-markdown", markdown, "-plot", plot}
	require.NoError(t, run(t.Context(), args, &out, &progress), progress.String())

	data, err := os.ReadFile(jsonFile)
	require.NoError(t, err)
	var doc report.WaitDocument
	require.NoError(t, json.Unmarshal(data, &doc))
	require.NotEmpty(t, doc.Budgets)
	for _, l := range doc.Budgets {
		require.NotEqual(t, report.NotMeasured, l.Verdict, l.Name)
	}
	require.Len(t, doc.Results.Rows, 5*3+5, "three contenders, and the queues")
	for _, row := range doc.Results.Rows {
		require.Len(t, row.Rounds, 1, row.Cell)
		require.Positive(t, row.Rounds[0].Commands, row.Cell)
		require.Zero(t, row.Rounds[0].Overlaps, "%s: what does not exclude is not compared", row.Cell)
		require.Equal(t, row.Loops > 0, row.Rounds[0].Taken > 0 && row.Newcomers == 0, row.Cell)
	}
	require.Len(t, doc.Results.Starts, 2)
	for _, file := range []string{"redis-server ", "v0.", "v4."} {
		require.Contains(t, doc.Machine.Redis+doc.Machine.Redislock+doc.Machine.Redsync, file)
	}
	text, err := os.ReadFile(markdown)
	require.NoError(t, err)
	require.Equal(t, out.String(), string(text))
	require.Contains(t, string(text), "](run.svg)")
	require.FileExists(t, plot)
}

func TestAContentionCommandThatMakesNoSenseStartsNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-rounds", "0"}, {"left over"}, {"-only", "memory"}} {
		require.Error(t, run(t.Context(), append([]string{contentionWord}, args...), io.Discard, io.Discard), "%q", args)
	}
	var usage bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{contentionWord, "-h"}, io.Discard, &usage), flag.ErrHelp)
	for _, name := range []string{"-rounds", "-json", "-markdown", "-plot", "-quick"} {
		require.Contains(t, usage.String(), name)
	}
}

func TestThePageFindsItsPlot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ markdown, plot, link string }{
		{"../docs/a.md", "../docs/a.svg", "a.svg"},
		{"docs/a.md", "plots/a.svg", "../plots/a.svg"},
		{"", "a.svg", ""},
		{"a.md", "", ""},
	} {
		o := &waitOrder{markdown: c.markdown, plot: c.plot}
		require.Equal(t, c.link, o.link(), "%v", c)
	}
}
