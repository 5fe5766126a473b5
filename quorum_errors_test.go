package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// F55: three nodes fail in three ways at a time. Each cause is to be found in the error, and each node is named once.
func TestEveryWayToFailIsInTheErrorWithItsNode(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Config)
	l := tr.open(redlock.WithNodeTimeout(time.Second))
	fail := func(prefixes map[int]string) error {
		_, err := l.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "a node's timeout is not the caller's deadline")
		e := quorumError(t, err)
		require.Len(t, e.Errs, 3)
		for _, node := range e.Errs {
			require.Equal(t, tr.Nodes[node.Index].Addr(), node.Name)
			require.Equal(t, 1, strings.Count(err.Error(), node.Name+"):"))
			if prefix := prefixes[node.Index]; prefix != "" {
				require.True(t, redis.HasErrorPrefix(node.Err, prefix), "%v", node)
			}
		}
		return err
	}
	tr.warm(l)
	tr.Nodes[0].Proxy().Refuse(true)
	tr.Nodes[0].Proxy().Reset()
	tr.do(1, []any{"acl", "setuser", "default", "+set"}, "acl", "setuser", "default", "-set")
	tr.Nodes[3].Proxy().BlackHole(true)
	err := fail(map[int]string{1: "NOPERM"})
	var refused *net.OpError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "dial", refused.Op)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.ErrorContains(t, err, "timeout")
	var answered redis.Error
	require.ErrorAs(t, err, &answered)

	tr.Nodes[0].Proxy().Pass()
	tr.Nodes[3].Proxy().Pass()
	tr.must(1, "acl", "setuser", "default", "+set")
	tr.warm(l)
	tr.must(1, "acl", "setuser", "default", "-set")
	tr.do(2, []any{"config", "set", "maxmemory", "0"}, "config", "set", "maxmemory", "1")
	tr.do(4, []any{"replicaof", "no", "one"}, "replicaof", "127.0.0.1", "1")
	err = fail(map[int]string{1: "NOPERM", 2: "OOM", 4: "READONLY"})
	for _, prefix := range []string{"NOPERM", "OOM", "READONLY"} {
		require.Equal(t, 1, strings.Count(err.Error(), prefix))
	}
}

// classes are what an error can be asked for.
var classes = []error{
	redlock.ErrNotAcquired, redlock.ErrTaken, redlock.ErrNoQuorum, redlock.ErrTooSlow, redlock.ErrLost, redlock.ErrUnlocked,
	redlock.ErrClosed, redlock.ErrInvalid, context.Canceled, context.DeadlineExceeded,
}

// F52, F53: what went wrong can be told apart, and never looks like something else; nothing shows a password or a token.
func TestErrorsAreToldApartAndTellNoSecrets(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const password = "sesame"
	urls := tr.urls(false)
	for i, u := range urls {
		urls[i] = u + "?client_name=" + password // every server takes it, and it is in every option
	}
	l := tr.openAt(urls, redlock.WithNodeTimeout(500*time.Millisecond))
	tr.warm(l)
	held := tr.lockAll(l, "taken")
	tokens := tr.values("taken")
	said := []any{l, held}
	is := func(err error, as ...error) {
		t.Helper()
		said = append(said, err)
		for _, class := range classes {
			require.Equal(t, slices.Contains(as, class), errors.Is(err, class), "%v in %v", class, err)
		}
	}
	tried := func(ctx context.Context, key string) error {
		_, err := l.Lock(ctx, key, redlock.WithMaxAttempts(1))
		return err
	}
	is(tried(t.Context(), "taken"), redlock.ErrNotAcquired, redlock.ErrTaken)
	is(tried(ended(t), "k"), redlock.ErrNotAcquired, context.Canceled)
	is(tried(expired(t), "k"), redlock.ErrNotAcquired, context.DeadlineExceeded)
	is(tried(t.Context(), ""), redlock.ErrInvalid)
	_, err := redlock.Open([]string{"redis://user:" + password + "@host:port"})
	is(err, redlock.ErrInvalid)
	require.NoError(t, held.Unlock(t.Context()))
	is(held.Unlock(t.Context()), redlock.ErrUnlocked)
	forgotten := tr.lockAll(l, "forgotten")
	tokens = append(tokens, tr.values("forgotten")...)
	tr.free("forgotten")
	is(forgotten.Unlock(t.Context()), redlock.ErrLost)
	tr.atAll(func(p *testcluster.Proxy) { p.Refuse(true); p.Reset() })
	is(tried(t.Context(), "k"), redlock.ErrNotAcquired, redlock.ErrNoQuorum)
	tr.atAll((*testcluster.Proxy).Pass) // a SET that met the reset may be owed, and only who answers can be paid
	require.NoError(t, l.Close(endsIn(t, time.Minute)))
	is(tried(t.Context(), "k"), redlock.ErrClosed)
	requireNoSecrets(t, said, append(tokens, password))
}

// ended is a context that was cancelled.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// expired is a context whose deadline has passed.
func expired(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	t.Cleanup(cancel)
	return ctx
}

func requireNoSecrets(t *testing.T, said []any, secrets []string) {
	t.Helper()
	for _, v := range said {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			text := fmt.Sprintf(format, v)
			for _, secret := range secrets {
				require.NotContains(t, text, secret, format)
			}
		}
	}
}
