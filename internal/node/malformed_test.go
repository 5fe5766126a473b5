package node

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// hugeLength is a reply that makes the client panic.
const hugeLength = "$9223372036854775800\r\n"

func TestAPanicOfTheClientCostsThatPipelineOnly(t *testing.T) {
	t.Parallel()
	s := replying("+OK\r\n", "+OK\r\n", hugeLength, "+OK\r\n")
	overRedis(t, s, nil, func(t *testing.T, r *rig, _ *redis.Client) {
		r.ask("warm", "1").requireVote(0, quorum.Granted, nil)
		a, b := r.ask("a", "1"), r.ask("b", "1")
		synctest.Wait()
		for _, hit := range []*bid{a, b} {
			if hit.vote(0).Vote == quorum.Unknown {
				require.ErrorContains(t, hit.vote(0).cause, "client panicked on a reply")
			}
		}
		require.Equal(t, quorum.Unknown, b.vote(0).Vote)
		r.ask("c", "1").requireVote(0, quorum.Granted, nil)
	})
}

func TestNoAnswerOfAPipelineThatPanickedCounts(t *testing.T) {
	t.Parallel()
	overRedis(t, replying("+OK\r\n", ":1\r\n", hugeLength), nil, func(t *testing.T, r *rig, _ *redis.Client) {
		cmds, _ := commandsOf([]any{"set", "k", "1"}, releaseScript.args([]any{"k"}, "1"), []any{"ping"})
		require.ErrorContains(t, r.lanes[0].transport.Exec(cmds), "client panicked on a reply")
		for _, c := range cmds {
			require.False(t, c.Answered())
		}
	})
}

func TestPanicsOfTheClientUseUpNoConnection(t *testing.T) {
	t.Parallel()
	small := func(o *redis.Options) { o.PoolSize, o.PipelinePoolSize = 1, 1 }
	overRedis(t, replying(hugeLength), small, func(t *testing.T, r *rig, _ *redis.Client) {
		for range 50 {
			b := r.ask("k", "1")
			require.ErrorContains(t, b.vote(0).cause, "client panicked on a reply")
		}
		require.Zero(t, r.clock.Now())
	})
}

func TestRawRepliesOfTheWrongShapeAreUnknownAndBecomeDebts(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"an integer":                     ":1\r\n",
		"an array":                       "*1\r\n+OK\r\n",
		"an array with an error":         "*1\r\n-ERR no\r\n",
		"a bulk string":                  "$4\r\nPONG\r\n",
		"another's reply":                "+PONG\r\n",
		"an empty status":                "+\r\n",
		"a map":                          "%1\r\n+OK\r\n+OK\r\n",
		"true":                           "#t\r\n",
		"a big number":                   "(3492890328409238509324850943850943825024385\r\n",
		"a length that is no one":        "$-7\r\n",
		"nothing, and the end":           hangUp,
		"half of an answer":              "+O" + hangUp,
		"half of a length":               "$10\r\nabc" + hangUp,
		"1 MB of noise":                  strings.Repeat("\x00\xfenoise", 1<<17) + "\r\n" + hangUp,
		"a length of the client's death": hugeLength,
		"an array of that length":        "*9223372036854775800\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overRedis(t, replying(raw, ":0\r\n"), nil, func(t *testing.T, r *rig, _ *redis.Client) {
				b := r.ask("k", "1")
				require.Equal(t, quorum.Unknown, b.vote(0).Vote)
				require.Error(t, b.vote(0).cause)
				b.release()
				r.wait(nodeTimeout)
				require.True(t, b.answer(0, 1).mayHold)
				r.requireDebts(1)
			})
		})
	}
}

func TestRawRepliesOfTheWrongShapeReleaseNothing(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"a status":                       "+OK\r\n",
		"a bulk string":                  "$1\r\n1\r\n",
		"null":                           "$-1\r\n",
		"another count":                  ":2\r\n",
		"an array":                       "*1\r\n:1\r\n",
		"the end":                        hangUp,
		"1 MB of noise":                  strings.Repeat("\x00\xfenoise", 1<<17) + "\r\n" + hangUp,
		"a length of the client's death": hugeLength,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overRedis(t, replying("+OK\r\n", raw, "+never an integer\r\n"), nil, func(t *testing.T, r *rig, _ *redis.Client) {
				b := r.ask("k", "1")
				b.requireVote(0, quorum.Granted, nil)
				b.release()
				r.wait(5 * ms)
				b.requireAnswer(0, 1, quorum.NoAnswer, true)
				r.requireDebts(1)
			})
		})
	}
}

func TestErrorRepliesAsTheyComeAreAnswersThatGrantNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"READONLY You can't write against a read only replica.",
		"LOADING Redis is loading the dataset in memory",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"MISCONF Redis is configured to save RDB snapshots",
		"NOPERM User default has no permissions",
		"NOAUTH Authentication required.",
		"BUSY Redis is busy running a script.",
		"CLUSTERDOWN The cluster is down", "MOVED 1 127.0.0.1:2", "ERR max number of clients reached",
		"WRONGTYPE Operation against a key holding the wrong kind of value", "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := replying("-" + text + "\r\n")
			overRedis(t, s, nil, func(t *testing.T, r *rig, _ *redis.Client) {
				b := r.ask("k", "1")
				got := b.vote(0)
				require.Equal(t, quorum.Unknown, got.Vote)
				require.EqualError(t, got.cause, text)
				b.release()
				b.answer(0, 1)
				r.requireDebts(0) // undone once, and no debt although the undo was answered by an error too
				require.Len(t, s.commands(), 2)
			})
		})
	}
}

func TestAPipelineThatBreaksLateLeavesNoVoteThatIsWrong(t *testing.T) {
	t.Parallel()
	overRedis(t, replying("+OK\r\n", "$-1\r\n", hangUp), nil, func(t *testing.T, r *rig, _ *redis.Client) {
		cmds, ops := commandsOf([]any{"set", "a", "1"}, []any{"set", "b", "1"}, []any{"set", "c", "1"})
		require.Error(t, r.lanes[0].transport.Exec(cmds))
		for i, want := range []quorum.Vote{quorum.Unknown, quorum.Refused, quorum.Unknown} {
			got := quorum.Unknown
			if ops[i].status() == answered {
				_, got, _ = ops[i].setAnswer()
			}
			require.Equal(t, want, got)
		}
	})
}

func TestNoScriptAsItComesIsFollowedByTheSource(t *testing.T) {
	t.Parallel()
	s := replying("+OK\r\n", "-NOSCRIPT No matching script. Please use EVAL.\r\n", ":1\r\n")
	overRedis(t, s, nil, func(t *testing.T, r *rig, _ *redis.Client) {
		b := r.ask("k", "1")
		b.requireVote(0, quorum.Granted, nil)
		b.release()
		b.requireAnswer(0, 1, quorum.Deleted, false)
		require.Len(t, s.commands(), 3)
		require.True(t, strings.HasPrefix(s.commands()[2], "eval "))
	})
}
