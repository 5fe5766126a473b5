package fence_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/fence"
	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// Each holds on the embedded server and on a real one.
var onRedis = map[string]func(t *testing.T, c *testcluster.Cluster, client *redis.Client){
	"the key holds the fence in digits and for ever":     theKeyHoldsTheFenceInDigitsAndForEver,
	"a wrong type at the key is an error and untouched":  aWrongTypeAtTheKeyIsAnErrorAndUntouched,
	"a value that is no fence is an error and untouched": aValueThatIsNoFenceIsAnErrorAndUntouched,
	"a write behind the guard is refused with it":        aWriteBehindTheGuardIsRefusedWithIt,
	"a body answers what a script may":                   aBodyAnswersWhatAScriptMay,
	"a body that fails has the fence seen":               aBodyThatFailsHasTheFenceSeen,
	"a lost reply is safe to repeat":                     aLostReplyIsSafeToRepeat,
}

func TestTheGuardOnRedis(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *testcluster.Cluster{"embedded": embedded, "real": server} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			client := clientOf(t, c)
			for claim, test := range onRedis {
				require.NoError(t, client.Del(t.Context(), "f", "data", "text").Err())
				t.Run(claim, func(t *testing.T) { test(t, c, client) })
			}
		})
	}
}

func theKeyHoldsTheFenceInDigitsAndForEver(t *testing.T, _ *testcluster.Cluster, client *redis.Client) {
	require.NoError(t, fence.NewRedis(client, "f").Admit(t.Context(), 1764493863123518))
	require.Equal(t, "1764493863123518", client.Get(t.Context(), "f").Val())
	require.Equal(t, time.Duration(-1), client.TTL(t.Context(), "f").Val())
}

func aWrongTypeAtTheKeyIsAnErrorAndUntouched(t *testing.T, _ *testcluster.Cluster, client *redis.Client) {
	require.NoError(t, client.HSet(t.Context(), "f", "field", "value").Err())
	err := fence.NewRedis(client, "f").Admit(t.Context(), 5)
	require.ErrorContains(t, err, "WRONGTYPE")
	require.NotErrorIs(t, err, fence.ErrStale)
	require.Equal(t, map[string]string{"field": "value"}, client.HGetAll(t.Context(), "f").Val())
}

func aValueThatIsNoFenceIsAnErrorAndUntouched(t *testing.T, _ *testcluster.Cluster, client *redis.Client) {
	for _, value := range []string{
		"", "x", "0", "-1", "01", "1.5", "1e3", " 1", "1 ", "1\n", "0x10", "1\x00", "9223372036854775808", strings.Repeat("9", 400),
	} {
		require.NoError(t, client.Set(t.Context(), "f", value, 0).Err())
		err := fence.NewRedis(client, "f").Admit(t.Context(), 5)
		require.ErrorContains(t, err, "is no fence", "%q", value)
		require.NotErrorIs(t, err, fence.ErrStale)
		require.Equal(t, value, client.Get(t.Context(), "f").Val())
	}
}

var set = fence.NewScript(`return redis.call('SET', KEYS[1], ARGV[1])`)

func aWriteBehindTheGuardIsRefusedWithIt(t *testing.T, _ *testcluster.Cluster, client *redis.Client) {
	g := fence.NewRedis(client, "f")
	reply, err := g.Run(t.Context(), 1, set, []string{"data"}, "A")
	require.NoError(t, err)
	require.Equal(t, "OK", reply)
	// A stops, B takes over and writes, A goes on.
	_, err = g.Run(t.Context(), 2, set, []string{"data"}, "B")
	require.NoError(t, err)
	reply, err = g.Run(t.Context(), 1, set, []string{"data"}, "A, late")
	require.Nil(t, reply)
	require.EqualError(t, err, "fence: stale: 1, where 2 was seen")
	_, err = g.Run(t.Context(), 0, set, []string{"data"}, "not fenced")
	require.ErrorIs(t, err, fence.ErrNoFence)
	require.Equal(t, "B", client.Get(t.Context(), "data").Val())
}

func aBodyAnswersWhatAScriptMay(t *testing.T, _ *testcluster.Cluster, client *redis.Client) {
	g := fence.NewRedis(client, "f")
	for body, want := range map[string]any{
		"":                          nil,
		"return nil":                nil,
		"return false":              nil,
		"return 7 -- the end":       int64(7),
		"return {#KEYS, #ARGV}":     []any{int64(2), int64(3)},
		"return KEYS[2] .. ARGV[3]": "k2c",
		"return 'first', 'second'":  "first",
		"return 'stale', '9'":       "stale",
	} {
		reply, err := g.Run(t.Context(), 1, fence.NewScript(body), []string{"k1", "k2"}, "a", "b", "c")
		require.NoError(t, err, body)
		require.Equal(t, want, reply, body)
	}
}

func aBodyThatFailsHasTheFenceSeen(t *testing.T, _ *testcluster.Cluster, client *redis.Client) {
	g := fence.NewRedis(client, "f")
	require.NoError(t, client.Set(t.Context(), "text", "x", 0).Err())
	for i, body := range []string{
		`redis.call('SET', KEYS[1], 'half') return redis.call('LPUSH', KEYS[2], 'x')`,
		`redis.call('SET', KEYS[1], 'half') return redis.pcall('LPUSH', KEYS[2], 'x')`,
	} {
		require.NoError(t, client.Del(t.Context(), "data").Err())
		f := int64(i + 1)
		reply, err := g.Run(t.Context(), f, fence.NewScript(body), []string{"data", "text"})
		require.ErrorContains(t, err, "WRONGTYPE", body)
		require.Nil(t, reply)
		require.Equal(t, "half", client.Get(t.Context(), "data").Val())
		require.NoError(t, g.Admit(t.Context(), f))
		if i > 0 {
			requireStale(t, g, f-1, f)
		}
	}
}

// The reply is lost after the server has run the script: the client sends it again, and it is admitted again.
func aLostReplyIsSafeToRepeat(t *testing.T, c *testcluster.Cluster, client *redis.Client) {
	g := fence.NewRedis(client, "f")
	require.NoError(t, g.Admit(t.Context(), 1), "the script is loaded")
	c.Nodes[0].Proxy().DropNextReply("EVALSHA")
	require.NoError(t, g.Admit(t.Context(), 2))
	once := redis.NewClient(&redis.Options{Addr: c.Nodes[0].Addr(), MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, once.Close()) })
	c.Nodes[0].Proxy().DropNextReply("EVALSHA")
	err := fence.NewRedis(once, "f").Admit(t.Context(), 3)
	require.Error(t, err)
	require.NotErrorIs(t, err, fence.ErrStale)
	require.NoError(t, g.Admit(t.Context(), 3))
	requireStale(t, g, 2, 3)
}

func TestWhatIsNoAnswerIsNoAdmission(t *testing.T) {
	t.Parallel()
	client := clientOf(t, embedded(t))
	for _, reply := range []any{"OK", int64(1), nil, []any{}, []any{"stale"}, []any{"ok"}, []any{"stale", int64(5), "x"}, []any{int64(1)}} {
		err := fence.NewRedis(answering{client, reply}, "f").Admit(t.Context(), 1)
		require.Error(t, err, "%v", reply)
		require.NotErrorIs(t, err, fence.ErrStale)
	}
	_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		require.Error(t, fence.NewRedis(p, "f").Admit(t.Context(), 1), "nothing was sent yet")
		return nil
	})
	require.Error(t, err, "the server does not know the script")
}

// answering is a client that answers every script with one reply.
type answering struct {
	redis.Scripter
	reply any
}

func (a answering) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return redis.NewCmdResult(a.reply, ctx.Err())
}

func TestAGuardThatWasNotMadeIsInvalid(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	for _, g := range []*fence.Redis{{}, fence.NewRedis(nil, "f"), fence.NewRedis(client, "")} {
		require.ErrorIs(t, g.Admit(t.Context(), 1), fence.ErrInvalid)
	}
	for _, s := range []*fence.Script{nil, {}} {
		_, err := fence.NewRedis(client, "f").Run(t.Context(), 1, s, nil)
		require.ErrorIs(t, err, fence.ErrInvalid)
	}
}
