package contention

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const info = "# Commandstats\r\n" +
	"cmdstat_set:calls=1000,usec=1,usec_per_call=0.5,rejected_calls=0,failed_calls=0\r\n" +
	"cmdstat_evalsha:calls=200,usec=1,usec_per_call=0.5\r\n" +
	"cmdstat_client|setinfo:calls=30,usec=1\r\n" +
	"cmdstat_lrem:calls=4,usec=1\r\n"

const unsent = "cmdstat_get:calls=9999,usec=1\r\n" +
	"cmdstat_info:calls=9999,usec=1\r\n" +
	"cmdstat_setrange:calls=9999,usec=1\r\n" +
	"cmdstat_publish:calls=9999,usec=1\r\n" +
	"latencystat_set:calls=9999\r\n"

func TestOnlyCommandsThatClientsSendAreCounted(t *testing.T) {
	t.Parallel()
	calls, err := callsOf(info)
	require.NoError(t, err)
	require.EqualValues(t, 1234, calls)
	calls, err = callsOf(info + unsent)
	require.NoError(t, err)
	require.EqualValues(t, 1234, calls)
}

func TestAServerThatCountsOtherwiseIsNotCountedAsNothing(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"cmdstat_set:", "cmdstat_set", "cmdstat_set:calls=many,usec=1", "cmdstat_set:usec=1,calls=1"} {
		_, err := callsOf(line)
		require.ErrorContains(t, err, line)
	}
}
