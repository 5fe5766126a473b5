package redlock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

// printed is a value in every form in which it may end up in a log: itself, what it points to, and both inside of others.
func printed(t *testing.T, v any) string {
	t.Helper()
	var out strings.Builder
	values := []any{v, []any{v}, map[string]any{"v": v}, struct{ V any }{v}, struct{ v any }{v}}
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && !p.IsNil() {
		inside := p.Elem().Interface()
		values = append(values, inside, []any{inside}, struct{ V any }{inside}, struct{ v any }{inside})
	}
	for _, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%T", "%10v"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		fmt.Fprintln(&out, value)
		if text, err := json.Marshal(value); err == nil {
			out.Write(text)
		}
		var log bytes.Buffer
		for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(h).Info("m", "v", value, slog.Group("g", "v", value))
			slog.New(h.WithAttrs([]slog.Attr{slog.Any("v", value)})).Info("m")
		}
		out.Write(log.Bytes())
	}
	if err, ok := v.(error); ok {
		fmt.Fprintln(&out, fmt.Errorf("wrapped: %w", err), errors.Join(err, err))
	}
	return out.String()
}

// requireSecret holds that no part of a secret that is worth anything is in the text.
func requireSecret(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		for _, part := range []string{secret[:8], secret[len(secret)-8:], fmt.Sprintf("%x", secret)} {
			if i := strings.Index(text, part); i >= 0 {
				require.FailNow(t, "a secret is told", "…%s…", text[max(0, i-200):min(len(text), i+200)])
			}
		}
	}
}

// tokens is every token that was sent, without its label.
func (c *cluster) tokens() []string {
	var all []string
	for _, m := range c.masters {
		for _, r := range m.requests("") {
			if r.token != "" {
				token, _, _ := strings.Cut(r.token, " ")
				all = append(all, token)
			}
		}
	}
	return all
}

// quoting are servers, and a client, that tell in their error what was sent, whole or in part.
var quoting = map[string]way{
	"unknown command": quote(func(r request) string {
		return fmt.Sprintf("ERR unknown command '%s', with args beginning with: '%s' '%s' 'nx' ", r.name, r.key, r.token)
	}),
	"unknown command, cut": quote(func(r request) string {
		return fmt.Sprintf("ERR unknown command `%s`, with args beginning with: `%s`, `%s`, ", r.name, r.key, r.token[:11])
	}),
	"somewhere else":      quote(func(r request) string { return "ERR bad value " + r.token }),
	"somewhere else, cut": quote(func(r request) string { return "ERR bad value " + r.token[:20] + "..." }),
	"at the end":          quote(func(r request) string { return "ERR bad value " + r.token[:8] }),
	"twice":               quote(func(r request) string { return r.token + " is not " + r.token }),
	"the client":          {broken: func(r request) error { return fmt.Errorf("redis: can't parse reply=%.100q reading string", r.token) }},
	"the client, cut":     {broken: func(r request) error { return fmt.Errorf("redis: invalid reply: %.20q", "xxxx"+r.token) }},
	"the client's int":    {broken: func(r request) error { _, err := strconv.Atoi(r.token); return err }},
}

func quote(text func(r request) string) way {
	return way{answer: func(r request) (any, error, bool) {
		if r.token == "" {
			return nil, nil, false
		}
		return nil, reply(text(r)), true
	}}
}

func TestNoTokenIsInAnyText(t *testing.T) {
	t.Parallel()
	for name, w := range quoting {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				var attempts []Attempt
				c := newCluster(t, 5, told(&attempts))
				lock := c.mustTryLock(t, "held")
				synctest.Wait()
				c.each(w, 0, 1, 2)
				_, tried := c.TryLock(t.Context(), "k")
				require.ErrorIs(t, tried, ErrNoQuorum)
				_, waited := c.Lock(after(t, 60*time.Millisecond), "k")
				require.ErrorIs(t, waited, context.DeadlineExceeded)
				unlocked := lock.Unlock(t.Context())
				require.ErrorIs(t, unlocked, ErrNoQuorum)
				synctest.Wait() // nothing is changed while it is read without a mutex

				var all strings.Builder
				for _, err := range []error{tried, waited, unlocked} {
					e := quorumError(t, err)
					require.NotEmpty(t, e.Errs)
					all.WriteString(printed(t, err) + printed(t, e.Errs[0]))
					for _, n := range e.Errs {
						all.WriteString(printed(t, n.Err))
					}
				}
				for _, a := range attempts {
					all.WriteString(printed(t, a) + printed(t, &a))
				}
				all.WriteString(printed(t, lock) + printed(t, c.Locker) + lock.String() + c.String())
				require.Contains(t, all.String(), "10.0.0.1:6379", "else this test sees nothing")
				requireSecret(t, all.String(), c.tokens()...)
				c.each(way{}, 0, 1, 2)
			})
		})
	}
}

func TestWhatAServerSaysStaysItsErrorWhenATokenIsCutOut(t *testing.T) {
	t.Parallel()
	token := newToken()
	err := clean(reply("NOPERM no "+token+", none"), token)
	require.Equal(t, "NOPERM no …, none", err.Error())
	require.True(t, redis.HasErrorPrefix(err, "NOPERM"))
	_, ok := errors.AsType[redis.Error](err)
	require.True(t, ok)
	require.EqualError(t, clean(reply("ERR unknown command 'set', with args beginning with: 'k' '"+token[:4]), token), "ERR unknown command 'set'")
	untouched := reply("NOPERM no")
	require.Equal(t, untouched, clean(untouched, token))
	require.Equal(t, untouched, clean(untouched, "no"), "what is as short as a word is no token of ours")
}

func TestNoPasswordIsInAnyText(t *testing.T) {
	t.Parallel()
	const user, password = "app-user-7", "s3cr3t-p4ssw0rd"
	refuse := func(o *redis.Options) {
		o.Dialer = func(context.Context, string, string) (net.Conn, error) { return nil, errRefused }
	}
	var addresses []string
	for i := range 3 {
		addresses = append(addresses, fmt.Sprintf("rediss://%s:%s@redis-%d.internal:6380/0", user, password, i))
	}
	opts := []Option{WithClientOptions(refuse), WithNodeTimeout(time.Second), WithHooks(Hooks{Attempt: func(context.Context, Attempt) {}})}
	l, err := Open(addresses, opts...)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close(t.Context())) }()
	_, tried := l.TryLock(t.Context(), "k")
	require.ErrorIs(t, tried, ErrNoQuorum)

	client := redis.NewClient(&redis.Options{Addr: "redis-9.internal:6379", Username: user, Password: password, Dialer: func(context.Context, string, string) (net.Conn, error) {
		return nil, errRefused
	}})
	defer func() { require.NoError(t, client.Close()) }()
	made, err := New([]*redis.Client{client})
	require.NoError(t, err)

	var all strings.Builder
	for _, v := range []any{l, made, made.With(WithTTL(time.Second)), tried, opts, Hooks{}, &Hooks{}, Attempt{Err: tried}} {
		all.WriteString(printed(t, v))
	}
	for _, o := range opts {
		all.WriteString(printed(t, o))
	}
	for _, n := range quorumError(t, tried).Errs {
		all.WriteString(printed(t, n))
	}
	require.Contains(t, all.String(), "redis-0.internal:6380", "nodes are named")
	requireSecret(t, all.String(), password, user)
}

func TestNilAndZeroValuesPrintWithoutAPanic(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		(*Lock)(nil), &Lock{}, (*Locker)(nil), &Locker{}, &QuorumError{}, &NodeError{},
		Hooks{},
		Attempt{},
		Vote{},
		Acquisition{},
		Extension{},
		Jeopardy{},
		Loss{},
		Release{},
		Debts{},
		&Inspection{},
		NodeState{},
		WithLabel(""), WithKeys(), WithFencing(), WithoutReleaseOnClose(),
		WithClock(nil), WithClock(clock.NewManual(time.Time{})),
	} {
		require.NotContains(t, printed(t, v), "PANIC", "%T", v)
		require.NotContains(t, printed(t, v), "panicked", "%T", v)
	}
}

func TestErrorsAndHandlesLogTheirFields(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, WithPrefix("app:"))
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		c.each(way{down: errRefused, out: 1}, 0, 1)
		_, err := c.TryLock(t.Context(), "other")
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "err", err, "node", quorumError(t, err).Errs[1], "lock", lock)
		require.Contains(t, log.String(), `"op":"trylock","key":"other","nodes":3,"quorum":2,"granted":1,"refused":0,"unknown":0,"unsent":2}`)
		require.Contains(t, log.String(), `"node":{"index":1,"name":"10.0.0.2:6379","err":"connect: connection refused"}`)
		require.Contains(t, log.String(), `"lock":{"key":"k","remaining":9897999999}`)
		require.Equal(t, `redlock.Lock{key: "k", remaining: 9.897999999s}`, fmt.Sprint(lock))
		require.Equal(t, `redlock.Locker{nodes: 3, prefix: "app:"}`, fmt.Sprintf("%#v", c.Locker))
	})
}
