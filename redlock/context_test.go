package redlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The net package's dial timeout says that it is context.DeadlineExceeded. It is not the caller's.
func TestANodesTimeoutNeverLooksLikeTheEndOfTheCallersContext(t *testing.T) {
	t.Parallel()
	_, dial := (&net.Dialer{Timeout: time.Nanosecond}).DialContext(t.Context(), "tcp", "127.0.0.1:1")
	require.ErrorIs(t, dial, context.DeadlineExceeded, "else this test shows nothing")
	for _, cause := range []error{dial, context.Canceled, context.DeadlineExceeded, fmt.Errorf("pool: %w", context.Canceled)} {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 3)
			c.each(way{down: cause}, 0, 1, 2)
			_, err := c.TryLock(after(t, time.Hour), "k")
			require.ErrorIs(t, err, ErrNoQuorum)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, context.Canceled)
			for _, n := range quorumError(t, err).Errs {
				require.NotErrorIs(t, n, context.DeadlineExceeded)
				require.NotErrorIs(t, n, context.Canceled)
				require.ErrorContains(t, n, cause.Error())
			}
			_, ok := errors.AsType[net.Error](err)
			_, timeout := errors.AsType[net.Error](cause)
			require.Equal(t, timeout, ok, "but what it is can still be found")
		})
	}
}

func TestAnEndedContextMatchesItsErrorAndItsCauseAndSendsNothing(t *testing.T) {
	t.Parallel()
	errCause := errors.New("shutting down")
	ways := map[string]struct {
		ctx func(context.Context) (context.Context, context.CancelFunc)
		is  []error
	}{
		"cancelled": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, []error{context.Canceled}},
		"cancelled with a cause": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(errCause)
			return ctx, func() {}
		}, []error{context.Canceled, errCause}},
		"past its deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, -time.Second)
		}, []error{context.DeadlineExceeded}},
		"past its deadline with a cause": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, -time.Second, errCause)
		}, []error{context.DeadlineExceeded, errCause}},
	}
	for name, tt := range ways {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 3)
			ctx, cancel := tt.ctx(t.Context())
			defer cancel()
			_, tried := c.TryLock(ctx, "k")
			_, locked := c.Lock(ctx, "k")
			for _, err := range []error{tried, locked} {
				require.ErrorIs(t, err, ErrNotAcquired, name)
				for _, is := range tt.is {
					require.ErrorIs(t, err, is, name)
					require.Equal(t, 1, strings.Count(err.Error(), is.Error()), "%s: said once: %v", name, err)
				}
				require.ErrorContains(t, err, "no node was asked")
				require.Equal(t, 3, quorumError(t, err).Unsent)
			}
			synctest.Wait()
			require.Zero(t, c.sent(""))
		})
	}
}
