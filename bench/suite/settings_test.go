package suite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/suite"
)

func TestSettingsNameWhatCannotBeRun(t *testing.T) {
	t.Parallel()
	for _, section := range suite.Sections() {
		s := suite.Full()
		s.Only = section
		require.NoError(t, s.Validate(), section)
	}
	require.NoError(t, suite.Quick().Validate())

	s := suite.Full()
	s.Rounds = 0
	require.ErrorIs(t, s.Validate(), suite.ErrSettings)
	require.ErrorContains(t, s.Validate(), "rounds 0 is below 1")

	s = suite.Full()
	s.Only = "nothing"
	require.ErrorIs(t, s.Validate(), suite.ErrSettings)
	require.ErrorContains(t, s.Validate(), `no section "nothing": one of healthy, link, stopped, renewal, memory`)

	_, err := suite.Run(t.Context(), s, nil, nil)
	require.ErrorIs(t, err, suite.ErrSettings, "before anything is touched")
}
