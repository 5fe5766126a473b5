package redlock

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// oldToken is the token that a request wants to take the key over from, or the one that it carries.
func oldToken(r request) string {
	if r.script == "resume" {
		return r.args[len(r.args)-1].(string)
	}
	return r.token
}

// quotingOld are servers that tell what a Resume was given.
var quotingOld = map[string]way{
	"the old one":      quote(func(r request) string { return "ERR bad value " + oldToken(r) }),
	"the old one, cut": quote(func(r request) string { return "ERR bad value " + oldToken(r)[:12] + "..." }),
	"both":             quote(func(r request) string { return "ERR " + r.token + " is not " + oldToken(r) }),
	"the client, of the old one": {broken: func(r request) error {
		return fmt.Errorf("redis: can't parse reply=%.100q reading string", oldToken(r))
	}},
}

// secretLife is everything that a lock whose nodes quote what they are sent says of its life.
func secretLife(t *testing.T, w way, opts ...LockOption) (all string, tokens []string) {
	t.Helper()
	var told recorded
	c := primed(t, 5, WithHooks(told.hooks()))
	held := c.mustHold(t, "held", opts...)
	left := c.mustHold(t, "left", opts...)
	given := c.mustHold(t, "given", opts...).Detach()
	c.each(w, 0, 1, 2)
	_, tried := c.TryLock(t.Context(), "k", opts...)
	_, resumed := c.Resume(t.Context(), "given", given, opts...)
	extended := held.Extend(t.Context())
	wasLeft := left.Leave(t.Context(), time.Minute)
	seen, err := c.Inspect(t.Context(), "held")
	require.NoError(t, err)
	unlocked := held.Unlock(t.Context())
	c.each(way{}, 0, 1, 2)
	time.Sleep(recovery)
	healthy, err := c.Inspect(t.Context(), "left")
	require.NoError(t, err)
	synctest.Wait() // a wrong verb reads what others write

	var text strings.Builder
	for _, err := range []error{tried, resumed, extended, wasLeft, unlocked} {
		require.Error(t, err)
		text.WriteString(printed(t, err))
		for _, n := range quorumError(t, err).Errs {
			text.WriteString(printed(t, n) + printed(t, n.Err))
		}
	}
	told.mu.Lock()
	for _, event := range told.all {
		text.WriteString(printed(t, event))
	}
	told.mu.Unlock()
	for _, v := range []any{held, left, seen, healthy, held.Err(), left.Err(), c.Locker, opts} {
		text.WriteString(printed(t, v))
	}
	for _, n := range append(seen.Nodes, healthy.Nodes...) {
		text.WriteString(printed(t, n) + printed(t, n.Err))
	}
	before, _, _ := strings.Cut(given, " ")
	return text.String(), append(c.tokens(), before)
}

func TestNoTokenIsInWhatALockSaysOfItsLife(t *testing.T) {
	t.Parallel()
	for _, ways := range []map[string]way{quoting, quotingOld} {
		for name, w := range ways {
			for _, opts := range [][]LockOption{nil, {WithLabel("worker 7")}, {WithFencing(), WithLabel("worker 7")}} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					bubble(t, func(t *testing.T) {
						all, tokens := secretLife(t, w, opts...)
						require.Contains(t, all, "10.0.0.1:6379", "else this test sees nothing")
						require.Greater(t, len(tokens), 10)
						requireSecret(t, all, tokens...)
						synctest.Wait()
					})
				})
			}
		}
	}
}
