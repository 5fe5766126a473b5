package quorum_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestTallyPanicsOnMisuse(t *testing.T) {
	t.Parallel()
	tally := quorum.NewTally(3)
	var zero quorum.Tally
	for name, misuse := range map[string]struct {
		f    func()
		want string
	}{
		"no nodes":            {func() { quorum.NewTally(0) }, "quorum: 0 nodes, not 1 to 64"},
		"negative nodes":      {func() { quorum.NewTally(-1) }, "quorum: -1 nodes, not 1 to 64"},
		"too many nodes":      {func() { quorum.NewTally(65) }, "quorum: 65 nodes, not 1 to 64"},
		"vote of node -1":     {func() { tally.Record(-1, quorum.Granted) }, "quorum: no node -1 among 3"},
		"vote of node n":      {func() { tally.Record(3, quorum.Granted) }, "quorum: no node 3 among 3"},
		"question for node n": {func() { tally.Vote(3) }, "quorum: no node 3 among 3"},
		"open vote":           {func() { tally.Record(0, quorum.VoteOpen) }, "quorum: open is not a vote to record"},
		"no vote at all":      {func() { tally.Record(0, quorum.Unsent+1) }, "quorum: vote(5) is not a vote to record"},
		"zero tally":          {func() { zero.Record(0, quorum.Granted) }, "quorum: no node 0 among 0"},
	} {
		require.PanicsWithValue(t, misuse.want, misuse.f, name)
	}
	require.Equal(t, quorum.NewTally(3), tally, "a panic leaves the tally as it was")
}

func TestReleasePanicsOnMisuse(t *testing.T) {
	t.Parallel()
	r := quorum.NewRelease(3)
	var zero quorum.Release
	for name, misuse := range map[string]struct {
		f    func()
		want string
	}{
		"no nodes":          {func() { quorum.NewRelease(0) }, "quorum: 0 nodes, not 1 to 64"},
		"too many nodes":    {func() { quorum.NewRelease(65) }, "quorum: 65 nodes, not 1 to 64"},
		"voter n":           {func() { r.SetVoter(3) }, "quorum: no node 3 among 3"},
		"answer of node -1": {func() { r.Record(-1, quorum.Deleted, false) }, "quorum: no node -1 among 3"},
		"open answer":       {func() { r.Record(0, quorum.AnswerOpen, false) }, "quorum: open is not an answer to record"},
		"no answer at all":  {func() { r.Record(0, quorum.NoAnswer+1, true) }, "quorum: answer(6) is not an answer to record"},
		"zero release":      {func() { zero.Record(0, quorum.Deleted, false) }, "quorum: no node 0 among 0"},
	} {
		require.PanicsWithValue(t, misuse.want, misuse.f, name)
	}
	require.Equal(t, quorum.NewRelease(3), r, "a panic leaves the release as it was")
}

func TestExtensionPanicsOnMisuse(t *testing.T) {
	t.Parallel()
	e := quorum.NewExtension(3)
	var zero quorum.Extension
	for name, misuse := range map[string]struct {
		f    func()
		want string
	}{
		"no nodes":               {func() { quorum.NewExtension(0) }, "quorum: 0 nodes, not 1 to 64"},
		"too many nodes":         {func() { quorum.NewExtension(65) }, "quorum: 65 nodes, not 1 to 64"},
		"voter n":                {func() { e.SetVoter(3) }, "quorum: no node 3 among 3"},
		"answer of node -1":      {func() { e.Record(-1, quorum.Confirmed) }, "quorum: no node -1 among 3"},
		"question for node n":    {func() { e.Confirmed(3) }, "quorum: no node 3 among 3"},
		"open confirmation":      {func() { e.Record(0, quorum.ConfirmationOpen) }, "quorum: open is not a confirmation to record"},
		"no confirmation at all": {func() { e.Record(0, quorum.Unconfirmed+1) }, "quorum: confirmation(4) is not a confirmation to record"},
		"zero extension":         {func() { zero.Record(0, quorum.Confirmed) }, "quorum: no node 0 among 0"},
	} {
		require.PanicsWithValue(t, misuse.want, misuse.f, name)
	}
	require.Equal(t, quorum.NewExtension(3), e, "a panic leaves the extension as it was")
}

func TestFencePanicsOnMisuse(t *testing.T) {
	t.Parallel()
	for name, misuse := range map[string]struct {
		n, stamps int
		want      string
	}{
		"no nodes":       {0, 0, "quorum: 0 nodes, not 1 to 64"},
		"too many nodes": {65, 33, "quorum: 65 nodes, not 1 to 64"},
		"no stamps":      {1, 0, "quorum: 0 stamps are not those of a majority of 1"},
		"a minority":     {5, 2, "quorum: 2 stamps are not those of a majority of 5"},
		"half":           {4, 2, "quorum: 2 stamps are not those of a majority of 4"},
		"more than all":  {5, 6, "quorum: 6 stamps are not those of a majority of 5"},
	} {
		require.PanicsWithValue(t, misuse.want, func() { quorum.Fence(misuse.n, make([]quorum.Stamp, misuse.stamps)) }, name)
	}
}
