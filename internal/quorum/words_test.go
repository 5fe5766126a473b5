package quorum_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestVotesVerdictsAndClassesHaveTheWordsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]interface{ String() string }{
		"granted": quorum.Granted, "refused": quorum.Refused, "unknown": quorum.Unknown,
		"unsent": quorum.Unsent, "vote(9)": quorum.Vote(9),
		"won": quorum.Won, "lost": quorum.Lost, "verdict(9)": quorum.Verdict(9),
		"taken": quorum.Taken, "no quorum": quorum.NoQuorum, "too slow": quorum.TooSlow, "class(9)": quorum.Class(9),
		"deleted": quorum.Deleted, "absent": quorum.Absent, "foreign": quorum.Foreign, "clear": quorum.Clear,
		"no answer": quorum.NoAnswer, "answer(9)": quorum.Answer(9),
		"confirmed": quorum.Confirmed, "gone": quorum.Gone, "unconfirmed": quorum.Unconfirmed,
		"confirmation(7)": quorum.Confirmation(7),
		"released":        quorum.Released, "not released": quorum.NotReleased, "outcome(9)": quorum.Outcome(9),
	} {
		require.Equal(t, want, got.String())
	}
	require.Equal(t, "lost", quorum.LostLock.String())
	for _, open := range []interface{ String() string }{
		quorum.VoteOpen, quorum.VerdictOpen, quorum.ClassOpen, quorum.AnswerOpen, quorum.OutcomeOpen,
		quorum.ConfirmationOpen,
	} {
		require.Equal(t, "open", open.String())
	}
}
