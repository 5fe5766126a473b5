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

	"github.com/quorumlock/go-redlock/bench/link"
	"github.com/quorumlock/go-redlock/bench/report"
)

func TestMain(m *testing.M) {
	link.ServeIfAsked()
	os.Exit(m.Run())
}

// Nothing is asserted on speed here: a loaded machine must not fail this.
func TestQuickRunMeasuresEveryBudgetAndWritesItsFiles(t *testing.T) {
	t.Parallel()
	jsonFile := filepath.Join(t.TempDir(), "run.json")
	markdown := filepath.Join(t.TempDir(), "run.md")
	var out, progress bytes.Buffer
	args := []string{"-quick", "-json", jsonFile, "-markdown", markdown}
	require.NoError(t, run(t.Context(), args, &out, &progress), progress.String())

	data, err := os.ReadFile(jsonFile)
	require.NoError(t, err)
	var doc report.Document
	require.NoError(t, json.Unmarshal(data, &doc))
	require.NotEmpty(t, doc.Budgets)
	for _, l := range doc.Budgets {
		require.NotEqual(t, report.NotMeasured, l.Verdict, l.Name)
	}
	for _, row := range doc.Results.Rows {
		require.Len(t, row.Rounds, 1, row.Cell)
		require.Positive(t, row.Rounds[0].CyclesPerSecond, row.Cell)
		require.Positive(t, row.Rounds[0].AcquireP50, row.Cell)
	}
	require.Len(t, doc.Results.Peers, 1, "redsync with timeouts")
	require.Equal(t, doc.Settings.HeldLocks, doc.Results.Memory.Released, progress.String())
	require.Zero(t, doc.Results.Memory.KeysLeft, progress.String())
	require.EqualValues(t, doc.Settings.Counters, doc.Results.Memory.Counters, "one a key, and no lock")
	require.Greater(t, doc.Results.Memory.CounterBytes, 32.0)
	require.Equal(t, doc.Settings.KeptLocks, doc.Results.Renewal.Kept+doc.Results.Renewal.Lost)
	require.Positive(t, doc.Results.Renewal.Goroutines)
	require.Contains(t, doc.Machine.Redis, "redis-server ")

	text, err := os.ReadFile(markdown)
	require.NoError(t, err)
	require.Equal(t, out.String(), string(text))
}

func TestOnlyOneSectionIsMeasuredOnRequest(t *testing.T) {
	t.Parallel()
	jsonFile := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, run(t.Context(), []string{"-quick", "-only", "memory", "-json", jsonFile}, io.Discard, io.Discard))
	data, err := os.ReadFile(jsonFile)
	require.NoError(t, err)
	var doc report.Document
	require.NoError(t, json.Unmarshal(data, &doc))
	require.Empty(t, doc.Results.Rows)
	require.NotNil(t, doc.Results.Memory)
}

func TestACommandLineThatMakesNoSenseStartsNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-rounds", "0"}, {"-only", "nothing"}, {"left over"}, {"-unknown"}} {
		require.Error(t, run(t.Context(), args, io.Discard, io.Discard), "%q", args)
	}
	var usage bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, io.Discard, &usage), flag.ErrHelp)
	for _, name := range []string{"-rounds", "-json", "-markdown", "-quick", "-only"} {
		require.Contains(t, usage.String(), name)
	}
}
