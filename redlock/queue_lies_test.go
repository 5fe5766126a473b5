package redlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever a canary says of its queue, a waiter asks no node more often than twice in its shortest pause.
func TestACanaryThatLiesMakesNobodySpin(t *testing.T) {
	t.Parallel()
	const one, zero, century = int64(1), int64(0), int64(100 * 365 * 24 * time.Hour / time.Millisecond)
	for name, lies := range map[string][]any{
		"about to end":              {[]any{one, zero, one, zero, one}},
		"about to end, entered":     {[]any{one, zero, one, zero, zero}},
		"about to end now and then": {[]any{one, zero, one, zero, one}, []any{one, zero, one, century, one}},
		"free":                      {[]any{zero}},
		"free now and then":         {[]any{zero}, []any{one, zero, one, century, one}},
		"ended":                     {[]any{one, zero, one, int64(-2), one}},
	} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, 2, WithTTL(time.Hour))
			key, turns := c.keyAt(1), make(chan turn, 1)
			lock := c.mustTryLock(t, key)
			told := 0
			c.masters[1].set(way{out: trip / 2, back: trip / 2, answer: func(r request) (any, error, bool) {
				if r.script != "queue" {
					return nil, nil, false
				}
				told++
				return lies[told%len(lies)], nil, true
			}})
			c.queueUp(t.Context(), 1, key, turns)
			before := c.sent("")
			const waits = 10 * time.Second
			time.Sleep(waits)
			// A poll looks at five nodes and enters the queue again.
			const poll = 5 + 1
			t.Logf("%s: %d commands, told %d", name, c.sent("")-before, told)
			require.Less(t, c.sent("")-before, 2*poll*int(waits/c.terms.backoffMin), name)
			released := time.Now()
			require.NoError(t, lock.Unlock(t.Context()))
			require.LessOrEqual(t, c.mustHave(turns).at.Sub(released), 2*pollBound, name)
		})
	}
}
