package node

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func TestAServerThatHangsUpGetsEachCommandOnceOnDefaultOptions(t *testing.T) {
	t.Parallel()
	s := replying("", "", hangUp)
	overRedis(t, s, nil, func(t *testing.T, r *rig, client *redis.Client) {
		require.Equal(t, 3, client.Options().MaxRetries)
		cmds, _ := commandsOf([]any{"set", "k", "1", "nx"}, []any{"set", "k", "2", "nx"}, []any{"ping"})
		require.Error(t, r.lanes[0].transport.Exec(cmds))
		synctest.Wait()
		require.Equal(t, []string{"set k 1 nx", "set k 2 nx", "ping"}, s.commands())
		for _, c := range cmds {
			require.True(t, c.asked)
			require.False(t, c.Answered())
		}
	})
}

func TestTheClientWouldSendAgainWhatDoesNotForbidIt(t *testing.T) {
	t.Parallel()
	s := replying(hangUp)
	overRedis(t, s, nil, func(t *testing.T, _ *rig, client *redis.Client) {
		pipe := client.Pipeline()
		pipe.SetNX(t.Context(), "k", "1", 0)
		_, err := pipe.Exec(t.Context())
		require.Error(t, err)
		require.Len(t, s.commands(), 4)
	})
}

func TestARefusedGreetingAnswersNoCommand(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{"WRONGPASS invalid username-password pair or user is disabled.", "NOAUTH Authentication required."} {
		s := &server{answer: func(string) (string, bool) { return "-" + refusal + "\r\n", false }}
		password := func(o *redis.Options) { o.Password = "old" }
		overRedis(t, s, password, func(t *testing.T, r *rig, _ *redis.Client) {
			cmds, _ := commandsOf([]any{"set", "k", "1"}, releaseScript.args([]any{"k"}, "1"))
			require.ErrorContains(t, r.lanes[0].transport.Exec(cmds), refusal)
			for _, c := range cmds {
				require.False(t, c.Answered())
			}
			b := r.ask("k", "1")
			b.release()
			require.Equal(t, quorum.Unsent, b.vote(0).Vote)
			require.ErrorContains(t, b.vote(0).cause, refusal)
			require.True(t, redis.HasErrorPrefix(b.vote(0).cause, refusal[:6]))
			b.requireAnswer(0, 1, quorum.Clear, false)
			require.Empty(t, s.commands())
		})
	}
}

func TestAReleaseIsNotAnsweredByARefusedGreeting(t *testing.T) {
	t.Parallel()
	changed := false
	s := &server{answer: func(cmd string) (string, bool) {
		switch {
		case greeting(cmd) && changed:
			return "-WRONGPASS invalid username-password pair\r\n", false
		case strings.HasPrefix(cmd, "hello"):
			return "-ERR unknown command\r\n", false
		case strings.HasPrefix(cmd, "set"):
			changed = true
			return "+OK\r\n", true // the server ends what was authenticated with the old password
		default:
			return "+OK\r\n", false
		}
	}}
	overRedis(t, s, func(o *redis.Options) { o.Password = "old" }, func(t *testing.T, r *rig, _ *redis.Client) {
		b := r.ask("k", "1")
		b.requireVote(0, quorum.Granted, nil)
		b.release()
		r.wait(2 * ttl)
		b.requireAnswer(0, 1, quorum.NoAnswer, true)
		r.requireDebts(1)
		b.release()
		require.ErrorContains(t, b.answer(0, 2).cause, "WRONGPASS")
		b.requireAnswer(0, 2, quorum.NoAnswer, true)
	})
}

func TestWhatTheClientCouldNotSendIsUnsent(t *testing.T) {
	t.Parallel()
	failing := func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no such host, says a custom dialer")
	}
	mute := &server{answer: func(string) (string, bool) { return "", false }}
	for name, change := range map[string]func(*redis.Options){
		"dialling failed":         func(o *redis.Options) { o.Dialer = failing },
		"a limiter":               func(o *redis.Options) { o.Limiter = limiter{} },
		"a greeting that is mute": func(o *redis.Options) { o.Dialer = mute.dial },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, traced := range []bool{false, true} {
				s := replying("+OK\r\n")
				overRedis(t, s, change, func(t *testing.T, _ *rig, client *redis.Client) {
					if traced {
						client.AddHook(tracer{})
					}
					cmds, ops := commandsOf([]any{"set", "k", "1"})
					require.Error(t, NewTransport(client.WithTimeout(nodeTimeout)).Exec(cmds))
					require.Equal(t, unsent, ops[0].status())
					require.Empty(t, s.commands())
				})
			}
		})
	}
}

// limiter lets nothing pass.
type limiter struct{}

func (limiter) Allow() error       { return errors.New("circuit breaker is open") }
func (limiter) ReportResult(error) {}

// tracer is a user's hook that asks for arguments as tracing hooks do, whether or not they are sent. It must not reach the
// lanes' commands, or nothing would ever be unsent.
type tracer struct{}

func (tracer) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (tracer) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (tracer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, c := range cmds {
			_ = c.Args()
		}
		err := next(ctx, cmds)
		for _, c := range cmds {
			_ = c.Args()
		}
		return err
	}
}

func TestAClosedClientIsUnsent(t *testing.T) {
	t.Parallel()
	overRedis(t, replying("+OK\r\n"), nil, func(t *testing.T, r *rig, client *redis.Client) {
		require.NoError(t, client.Close())
		b := r.ask("k", "1")
		b.requireVote(0, quorum.Unsent, redis.ErrClosed)
		require.True(t, r.lanes[0].dead)
	})
}

func TestWhatTheClientSentIsNeverUnsent(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*server{"silence": replying(""), "a connection that ends": replying(hangUp)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overRedis(t, s, nil, func(t *testing.T, r *rig, _ *redis.Client) {
				b := r.ask("k", "1")
				r.wait(nodeTimeout)
				require.Equal(t, quorum.Unknown, b.vote(0).Vote)
				require.LessOrEqual(t, b.vote(0).at, nodeTimeout)
				require.Equal(t, name == "silence", r.lanes[0].health.suspect)
			})
		})
	}
}

func TestAWriteThatFailsIsUnknown(t *testing.T) {
	t.Parallel()
	s := replying("+OK\r\n")
	broken := func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := s.dial(ctx, network, addr)
			return breaking{c}, err
		}
	}
	overRedis(t, s, broken, func(t *testing.T, r *rig, _ *redis.Client) {
		b := r.ask("k", "1")
		b.requireVote(0, quorum.Unknown, errReset)
		require.Empty(t, s.commands())
	})
}

// breaking is a connection that breaks when a SET is written to it.
type breaking struct{ net.Conn }

func (c breaking) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "$3\r\nset") {
		return 0, errReset
	}
	return c.Conn.Write(p)
}
