package quorum_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// held returns an extension to five nodes of which the first voters are voters.
func held(voters int) quorum.Extension {
	e := quorum.NewExtension(5)
	for node := range voters {
		e.SetVoter(node)
	}
	return e
}

func TestThreeConfirmedVotersWinWithoutWaitingForTheRest(t *testing.T) {
	t.Parallel()
	e := held(5)
	for node := range 3 {
		require.Equal(t, quorum.VerdictOpen, e.Verdict(), "after %d answers", node)
		e.Record(node, quorum.Confirmed)
	}
	require.Equal(t, quorum.Won, e.Verdict())
	e.Record(3, quorum.Gone)
	e.Record(4, quorum.Gone)
	require.Equal(t, quorum.Won, e.Verdict(), "later answers are noted")
	require.False(t, e.Proof(0))
	require.EqualValues(t, 0b00111, e.Voters())
	require.EqualValues(t, 0b11000, e.Gone())
}

// A holds 1, 2 and 3; 3 restarts empty; B takes 3, 4 and 5 and gives them back; A's
// SETs to 4 and 5 land late. Four nodes have A's token, and two of them prove nothing.
func TestStragglersThatLandAfterSomebodyElseHeldTheLockDoNotWin(t *testing.T) {
	t.Parallel()
	e := held(3)
	e.Record(0, quorum.Confirmed)
	e.Record(1, quorum.Confirmed)
	e.Record(3, quorum.Confirmed)
	e.Record(4, quorum.Confirmed)
	require.Equal(t, quorum.VerdictOpen, e.Verdict())
	e.Record(2, quorum.Gone)
	require.Equal(t, quorum.Lost, e.Verdict())
	require.True(t, e.Proof(0))
	require.EqualValues(t, 0b11011, e.Confirmations())
	require.True(t, e.Confirmed(4), "it has our token, voter or not")
	require.EqualValues(t, 0b00011, e.Voters())
}

func TestSilenceLosesTheRoundAndProvesNothing(t *testing.T) {
	t.Parallel()
	e := held(3)
	for node := range 5 {
		e.Record(node, quorum.Unconfirmed)
	}
	require.Equal(t, quorum.Lost, e.Verdict())
	require.False(t, e.Proof(0))
	require.EqualValues(t, 0b11111, e.Missing())
	require.EqualValues(t, 0b00111, e.Voters(), "silence takes no vote back")
}

func TestLostVoterOfABareMajorityIsProofOnlyOnceNoOtherCanMakeUpForIt(t *testing.T) {
	t.Parallel()
	e := held(3)
	e.Record(0, quorum.Gone)
	require.False(t, e.Proof(0), "the open nodes may turn out to be voters")
	e.Record(3, quorum.Gone)
	require.False(t, e.Proof(0))
	e.Record(4, quorum.Confirmed)
	require.True(t, e.Proof(0), "the fifth answered, and was no voter")
	require.False(t, e.Proof(1<<4), "its grant may still be on its way")
	require.Equal(t, quorum.Lost, e.Verdict(), "two voters are left")
}

func TestForeignTokensOnAVetoOfNodesProveLossWhoeverTheVotersAre(t *testing.T) {
	t.Parallel()
	for n := 1; n <= quorum.MaxNodes; n++ {
		e := quorum.NewExtension(n)
		for node := range n {
			e.SetVoter(node)
		}
		for node := range veto(n) {
			require.False(t, e.Proof(math.MaxUint64), "nodes %d, %d gone", n, node)
			e.Record(node, quorum.Gone)
		}
		require.True(t, e.Proof(math.MaxUint64), "nodes %d; bits of no node are ignored", n)
	}
}

func TestVoterToldBeforeItsAnswerCountsAndAfterItDoesNot(t *testing.T) {
	t.Parallel()
	e := held(2)
	e.Record(0, quorum.Confirmed)
	e.Record(1, quorum.Confirmed)
	e.Record(2, quorum.Confirmed)
	e.SetVoter(2)
	require.Equal(t, quorum.VerdictOpen, e.Verdict())
	require.EqualValues(t, 0b00011, e.Voters())
	e.SetVoter(3)
	e.Record(3, quorum.Confirmed)
	require.Equal(t, quorum.Won, e.Verdict())
}

func TestConfirmationAfterTheEndOfTimeDoesNotWin(t *testing.T) {
	t.Parallel()
	e := held(3)
	e.Record(0, quorum.Confirmed)
	e.Record(1, quorum.Confirmed)
	e.Expire()
	require.Equal(t, quorum.Lost, e.Verdict())
	require.True(t, e.Record(2, quorum.Confirmed))
	require.Equal(t, quorum.Lost, e.Verdict())
	require.EqualValues(t, 0b00111, e.Confirmations())
	require.False(t, e.Proof(0), "the lock is ours as long as it lasts")
}

func TestEndOfTimeDoesNotTakeBackAWonExtension(t *testing.T) {
	t.Parallel()
	e := held(3)
	for node := range 3 {
		e.Record(node, quorum.Confirmed)
	}
	e.Expire()
	e.Expire()
	require.Equal(t, quorum.Won, e.Verdict())
}

func TestExtensionCoversSixtyFourNodes(t *testing.T) {
	t.Parallel()
	e := quorum.NewExtension(quorum.MaxNodes)
	for node := range quorum.MaxNodes {
		e.SetVoter(node)
		require.Equal(t, node >= 33, e.Verdict() == quorum.Won, "after %d answers", node)
		require.True(t, e.Record(node, quorum.Confirmed))
	}
	require.Equal(t, uint64(math.MaxUint64), e.Voters())
	require.Equal(t, uint64(math.MaxUint64), e.Confirmations())
}
