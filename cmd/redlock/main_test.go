package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCommandLineTellsWhatWentWrongOnce(t *testing.T) {
	tests := []struct {
		name        string
		environment string
		args        []string
		status      int
		stderr      string
	}{
		{"an unknown kind of masters", "", []string{"demo", "--cluster", "etcd"}, 1, "redlock: demo: no masters of the kind \"etcd\": it is embedded, processes or containers\n"},
		{"an unknown kind in the environment", "etcd", []string{"demo"}, 1, "redlock: demo: no masters of the kind \"etcd\": it is embedded, processes or containers\n"},
		{"an argument too many", "", []string{"demo", "now"}, 1, "redlock: demo: unexpected argument \"now\"\n"},
		{"help", "", []string{"--help"}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("CLUSTER", tt.environment)
			var stdout, stderr bytes.Buffer
			require.Equal(t, tt.status, run(append([]string{"redlock"}, tt.args...), &stdout, &stderr))
			require.Equal(t, tt.stderr, stderr.String())
		})
	}
}

func TestTheDemoRunsFromTheCommandLine(t *testing.T) {
	// Make passes an empty CLUSTER on: it means the default.
	t.Setenv("CLUSTER", "")
	var stdout, stderr bytes.Buffer
	require.Equal(t, 0, run([]string{"redlock", "demo"}, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "Everything that was said has been checked.")
	require.Empty(t, stderr.String())
}
