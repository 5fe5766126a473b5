package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSystemReadsBoottimeOnLinux(t *testing.T) {
	t.Parallel()
	before, ok := boottime()
	require.True(t, ok)
	now := System().Now()
	after, _ := boottime()
	require.NotZero(t, before)
	require.LessOrEqual(t, before, now)
	require.LessOrEqual(t, now, after+10*time.Millisecond)
}
