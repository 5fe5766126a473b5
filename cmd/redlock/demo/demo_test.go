package demo

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

func TestTheStoryHoldsOnEmbeddedMasters(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), &out, Embedded), out.String())

	told := out.String()
	for _, part := range []string{
		"embedded in this program",
		"A acquired after",
		"is told that it is taken after",
		"is told that there is no quorum after",
		"A has given it back",
		"B acquired after",
		"no master carries the key any more",
		"Everything that was said has been checked.",
	} {
		require.Contains(t, told, part)
	}
	require.GreaterOrEqual(t, strings.Count(told, "granted\n"), 5+3, "five votes for A and a majority for B:\n%s", told)
	refusals := regexp.MustCompile(`\ds +refused\n`).FindAllString(told, -1)
	require.Len(t, refusals, 4+3+2, "as many refusals as masters live:\n%s", told)
	require.NotContains(t, told, "\x1b", "no colours where nobody sees them")
}

func TestTheStoryNamesTheDeadNodesOnly(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), &out, Embedded))
	_, last, ok := strings.Cut(out.String(), "is told that there is no quorum")
	require.True(t, ok)
	last, _, _ = strings.Cut(last, "Not \"taken\"")
	named := regexp.MustCompile(`node (\d) \(127\.0\.0\.1:\d+\):`).FindAllStringSubmatch(last, -1)
	require.Len(t, named, 3)
	for i, n := range named {
		require.Equal(t, []string{"2", "3", "4"}[i], n[1])
	}
}

func TestAnInterruptedStoryLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	out := &cancelOn{word: "is dead", cancel: cancel}
	require.ErrorIs(t, Run(ctx, out, Embedded), context.Canceled)
	require.NotContains(t, out.String(), "Everything")
}

// cancelOn ends a context as soon as a word was printed.
type cancelOn struct {
	bytes.Buffer
	word   string
	cancel func()
}

func (c *cancelOn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.word)) {
		c.cancel()
	}
	return c.Buffer.Write(p)
}

func TestAnUnknownKindOfMastersIsNamed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.ErrorContains(t, Run(t.Context(), &out, "kubernetes"), `no masters of the kind "kubernetes"`)
	require.Empty(t, out.String())
}

func TestAClaimThatIsNotSoEndsTheStory(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) *story {
		t.Helper()
		cluster, err := testcluster.Start(t.Context(), testcluster.Embedded, masters, testcluster.Persistent())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, cluster.Close()) })
		st, err := newStory(t.Context(), cluster, newScreen(io.Discard))
		require.NoError(t, err)
		t.Cleanup(func() { _ = st.close(t.Context()) }) // of masters that died under it, some releases stay unpaid
		return st
	}
	t.Run("a lock that B can have", func(t *testing.T) {
		t.Parallel()
		st := setup(t)
		require.ErrorContains(t, st.inVain(t.Context(), redlock.ErrTaken, ""), "not so: B does not get the lock")
	})
	t.Run("an error of another class", func(t *testing.T) {
		t.Parallel()
		st := setup(t)
		require.NoError(t, st.taken(t.Context()))
		require.ErrorContains(t, st.noQuorum(t.Context()), `not so: the error is "redlock: no quorum": redlock: taken`)
	})
	t.Run("a key that should be gone", func(t *testing.T) {
		t.Parallel()
		st := setup(t)
		require.NoError(t, st.taken(t.Context()))
		st.patience = time.Millisecond
		require.ErrorContains(t, st.shows(t.Context(), 5, false, ""), "not so: 0 masters carry A's key")
	})
	t.Run("a master that should be dead", func(t *testing.T) {
		t.Parallel()
		st := setup(t)
		require.NoError(t, st.taken(t.Context()))
		st.patience = time.Millisecond
		require.ErrorContains(t, st.shows(t.Context(), 4, true, ""), "not so: the first 4 masters are up")
	})
}
