package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// Whatever rights are missing for the queue, a release releases, and says what is missing.
func TestWithoutRightsForTheQueueAReleaseStillDeletes(t *testing.T) {
	t.Parallel()
	server := realSite(t)
	for name, rights := range map[string]struct {
		keys []string
		more []any
		says string
	}{
		"no list may be touched":     {[]string{"a"}, []any{"+lpop", "+rpush", "+publish", "allchannels"}, "can't"},
		"no list may be popped":      {[]string{"a", "~q:a"}, []any{"+publish", "allchannels"}, "can't"},
		"nothing may be published":   {[]string{"a", "~q:a"}, []any{"+lpop"}, "can't"},
		"the channel is not allowed": {[]string{"a", "~q:a"}, []any{"+lpop", "+publish", "resetchannels"}, "can't"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server.forTest(t)
			u := s.limited(rights.keys, rights.more...)
			u.set("a", "1", time.Minute)
			s.waitsAt("a", "x")
			answer, told, err := u.hand(u.attempt("1", "a"), "a")
			require.NoError(t, err)
			require.Equal(t, quorum.Deleted, answer)
			require.Len(t, told, 1)
			require.Contains(t, told[0], rights.says)
			s.requireKeys(map[string]string{"a": ""})
			got := u.queue("a", "y", false, true)
			require.Equal(t, int64(-1), got[0])
			require.Contains(t, got[1], "can't")
			got = u.quit("a", "y")
			require.Equal(t, int64(-1), got[0])
			require.Contains(t, got[1], "can't")
			require.Equal(t, quorum.Confirmed, u.inspect("a").Confirmation)
		})
	}
}

// A server without memory for another key lets a release name who comes next: that gives memory back.
func TestAFullServerStillNamesWhoComesNext(t *testing.T) {
	t.Parallel()
	full := realSite(t)
	for name, known := range map[string]bool{"that knows the script": true, "that must be told its source": false} {
		// Not parallel: the memory is that of the whole server.
		t.Run(name, func(t *testing.T) {
			s := full.forTest(t)
			x := s.listen("x")
			s.set("a", "1", time.Minute)
			s.waitsAt("a", "dead", "x", "y")
			if known {
				_, _, _ = s.hand(s.attempt("nobody", "other"), "other")
			} else {
				require.NoError(t, s.client.ScriptFlush(t.Context()).Err())
			}
			limit := func(bytes string) { require.NoError(t, s.client.ConfigSet(t.Context(), "maxmemory", bytes).Err()) }
			limit("1")
			defer limit("0")
			answer, told, err := s.hand(s.attempt("1", "a"), "a")
			require.NoError(t, err)
			require.Equal(t, quorum.Deleted, answer)
			require.Equal(t, []any{int64(1), "x"}, told)
			x.requireNamed("a")
			s.requireQueue("a", "y")
			got := s.queue("a", "z", false, true)
			require.Equal(t, int64(-1), got[0])
			require.Contains(t, got[1], "OOM")
			require.Equal(t, []any{int64(-1), int64(0)}, s.quit("a", "y"), "who leaves can always leave")
		})
	}
}
