package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// The same cases on the server that is embedded in tests and on the best there is: what one of them alone made of a script
// would be found out by users.
func TestEveryScriptDoesWhatItSaysOnEveryServer(t *testing.T) {
	t.Parallel()
	embedded, err := testcluster.Start(t.Context(), testcluster.Embedded, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, embedded.Close()) })
	for _, server := range []*testcluster.Cluster{embedded, testcluster.ForTest(t, 1)} {
		shared := siteAt(t, server.Nodes[0].Direct())
		for claim, all := range claims {
			for name, f := range all {
				// One after the other: a Transport takes no two calls at once.
				t.Run(string(server.Backend)+" "+claim+": "+name, func(t *testing.T) { f(shared.forTest(t)) })
			}
		}
	}
}

var claims = map[string]cases{
	"acquire takes all keys or none":                                       acquireTakesAllKeysOrNone(),
	"acquire raises the counters above themselves and to the seed":         acquireRaisesTheCountersAboveThemselvesAndToTheSeed(),
	"several keys share one number above all their counters":               severalKeysShareOneNumberAboveAllTheirCounters(),
	"a counter that is none costs the vote and touches nothing":            aCounterThatIsNoneCostsTheVoteAndTouchesNothing(),
	"resume is refused where a key is not that token's":                    resumeIsRefusedWhereAKeyIsNotThatTokens(),
	"resume takes all keys of one token or none":                           resumeTakesAllKeysOfOneTokenOrNone(),
	"extend arms all keys or none and shortens no life":                    extendArmsAllKeysOrNoneAndShortensNoLife(),
	"extend changes nothing where a key is not ours":                       extendChangesNothingWhereAKeyIsNotOurs(),
	"extend renews the counters and touches nothing that is none":          extendRenewsTheCountersAndTouchesNothingThatIsNone(),
	"raise lifts the counters of what is ours":                             raiseLiftsTheCountersOfWhatIsOurs(),
	"repair sets what is missing":                                          repairSetsWhatIsMissing(),
	"repair touches nothing that is not ours":                              repairTouchesNothingThatIsNotOurs(),
	"raise stops at what is not ours":                                      raiseStopsAtWhatIsNotOurs(),
	"every ending gives up what is ours and nothing else":                  everyEndingGivesUpWhatIsOursAndNothingElse(),
	"the token that was taken over is released and left, but not restored": theTokenThatWasTakenOverIsReleasedAndLeftButNotRestored(),
	"a foreign key is told whatever else is gone":                          aForeignKeyIsToldWhateverElseIsGone(),
	"a life that is over leaves a key for a millisecond and no longer":     aLifeThatIsOverLeavesAKeyForAMillisecondAndNoLonger(),
	"inspect reports what is of a wrong type":                              inspectReportsWhatIsOfAWrongType(),
	"inspect tells what is there and touches nothing":                      inspectTellsWhatIsThereAndTouchesNothing(),
	"a fence of 16 digits survives every script":                           aFenceOf16DigitsSurvivesEveryScript(),
	"a release names the next who listens":                                 aReleaseNamesTheNextWhoListens(),
	"a release names nobody where it may not":                              aReleaseNamesNobodyWhereItMayNot(),
	"who waits stands in the queue once":                                   whoWaitsStandsInTheQueueOnce(),
	"a queue that is of no use is left alone":                              aQueueThatIsOfNoUseIsLeftAlone(),
	"who leaves passes on only what it was told":                           whoLeavesPassesOnOnlyWhatItWasTold(),
	"asking again takes what is free or ours":                              askingAgainTakesWhatIsFreeOrOurs(),
}
