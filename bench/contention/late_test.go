package contention

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAMachineThatIsNeverLateHasNoLateness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := watchLateness()
		time.Sleep(time.Minute)
		require.Zero(t, stop())
	})
}
