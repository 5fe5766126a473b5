package redlock_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheReadmesCodeCompiles holds every Go block of the README against the examples, which the compiler reads.
func TestTheReadmesCodeCompiles(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_readme_test.go")
	require.NoError(t, err)
	examples := flat(string(source))
	blocks := 0
	for _, after := range strings.Split(string(readme), "```go\n")[1:] {
		block, _, closed := strings.Cut(after, "```")
		require.True(t, closed)
		require.Contains(t, examples, flat(block))
		blocks++
	}
	require.Equal(t, 4, blocks)
}

// flat drops the indentation, which differs by where the code stands.
func flat(code string) string {
	lines := strings.Split(code, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}
