package quorum_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// voted returns a release to five nodes of which the first voters granted.
func voted(voters int) quorum.Release {
	r := quorum.NewRelease(5)
	for node := range voters {
		r.SetVoter(node)
	}
	return r
}

func TestThreeDeletionsReleaseWithoutWaitingForTheRest(t *testing.T) {
	t.Parallel()
	r := voted(5)
	for node := range 3 {
		require.Equal(t, quorum.OutcomeOpen, r.Outcome(), "after %d answers", node)
		require.Equal(t, 5-node, r.Held())
		r.Record(node, quorum.Deleted, false)
	}
	require.Equal(t, quorum.Released, r.Outcome())
	require.Equal(t, 2, r.Held())
	require.Equal(t, quorum.Released, r.Final())
}

func TestBareMajorityWithOneAbsentIsLost(t *testing.T) {
	t.Parallel()
	r := voted(3)
	r.Record(3, quorum.Clear, false)
	r.Record(4, quorum.Clear, false)
	r.Record(0, quorum.Absent, false)
	require.Equal(t, quorum.LostLock, r.Outcome())
}

func TestTwoAbsentOfFiveVotersAreNoLossAndThreeAre(t *testing.T) {
	t.Parallel()
	r := voted(5)
	r.Record(0, quorum.Absent, false)
	r.Record(1, quorum.Foreign, false)
	r.Record(2, quorum.Deleted, false)
	r.Record(3, quorum.Deleted, false)
	require.Equal(t, quorum.OutcomeOpen, r.Outcome(), "the last voter decides")

	lost := r
	r.Record(4, quorum.Deleted, false)
	require.Equal(t, quorum.Released, r.Outcome())
	lost.Record(4, quorum.Absent, false)
	require.Equal(t, quorum.LostLock, lost.Outcome())
}

func TestForeignTokenOnTwoOfFiveIsNoProofOfLossAndOnThreeIsOne(t *testing.T) {
	t.Parallel()
	r := voted(3)
	r.Record(3, quorum.Foreign, false)
	r.Record(4, quorum.Foreign, false)
	require.Equal(t, quorum.OutcomeOpen, r.Outcome())
	require.Equal(t, quorum.NotReleased, r.Final())
	r.Record(0, quorum.Foreign, false)
	require.Equal(t, quorum.LostLock, r.Outcome())
}

// A release may be sent while grants are still on their way: what answers absent
// first must not count as loss while a late voter can still make up for it.
func TestVoterThatComesLateCountsAsOneOfTheMajority(t *testing.T) {
	t.Parallel()
	r := voted(3)
	r.Record(0, quorum.Absent, false)
	r.Record(4, quorum.Clear, false)
	require.Equal(t, quorum.OutcomeOpen, r.Outcome())
	require.Equal(t, quorum.LostLock, r.Final(), "if its grant never comes")

	r.SetVoter(3)
	for node := 1; node <= 3; node++ {
		r.Record(node, quorum.Deleted, false)
	}
	require.Equal(t, quorum.Released, r.Outcome())
}

func TestSilentMajorityIsNotReleasedAndNotLost(t *testing.T) {
	t.Parallel()
	r := voted(5)
	r.Record(0, quorum.Deleted, false)
	r.Record(1, quorum.Deleted, false)
	require.Equal(t, quorum.OutcomeOpen, r.Outcome())
	require.Equal(t, quorum.NotReleased, r.Final())
	for node := 2; node < 5; node++ {
		r.Record(node, quorum.NoAnswer, true)
	}
	require.Equal(t, quorum.NotReleased, r.Outcome())
	require.Equal(t, 3, r.Held())
}

func TestDeletionIsNoReleaseWhereASetMayStillLand(t *testing.T) {
	t.Parallel()
	r := voted(5)
	for node := range 5 {
		r.Record(node, quorum.Deleted, node < 3)
	}
	require.Equal(t, quorum.NotReleased, r.Outcome())
	require.Equal(t, 3, r.Held())
}

func TestLossIsSaidBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	r := voted(3)
	for node := range 5 {
		r.Record(node, quorum.Absent, false)
	}
	require.Zero(t, r.Held())
	require.Equal(t, quorum.LostLock, r.Outcome(), "nothing is held, and nothing was ours")
}

func TestReleaseOfALockWithoutAMajorityOfVotersIsLost(t *testing.T) {
	t.Parallel()
	r := voted(2)
	for node := range 5 {
		r.Record(node, quorum.Deleted, false)
	}
	require.Equal(t, quorum.LostLock, r.Outcome())
}

func TestReleaseCoversSixtyFourNodes(t *testing.T) {
	t.Parallel()
	r := quorum.NewRelease(quorum.MaxNodes)
	require.Equal(t, 64, r.Held())
	for node := range quorum.MaxNodes {
		r.SetVoter(node)
		require.Equal(t, node >= 33, r.Outcome() == quorum.Released, "after %d answers", node)
		require.True(t, r.Record(node, quorum.Deleted, false))
		require.Equal(t, 63-node, r.Held())
	}
	require.Equal(t, quorum.Released, r.Final())
}
