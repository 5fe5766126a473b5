package redlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

var sentinels = []error{
	ErrNotAcquired, ErrTaken, ErrNoQuorum, ErrTooSlow, ErrLost, ErrUnlocked, ErrClosed, ErrInvalid,
	context.Canceled, context.DeadlineExceeded,
}

// Which error matches what is part of the public face: a caller's branch depends on it.
func TestEveryErrorMatchesWhatIsDocumentedAndNothingElse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  func(t *testing.T) error
		is   []error
	}{
		{"trylock: taken", tryLock(isTaken, isTaken, isTaken, grants, grants), []error{ErrNotAcquired, ErrTaken}},
		{"trylock: no quorum", tryLock(refusesConnection, hangs, hangs, grants, grants), []error{ErrNotAcquired, ErrNoQuorum}},
		{"lock: taken in the last attempt", func(t *testing.T) error {
			_, err := held(t, time.Hour).Lock(t.Context(), "k", WithMaxAttempts(2))
			return err
		}, []error{ErrNotAcquired, ErrTaken}},
		{"lock: deadline while taken", func(t *testing.T) error {
			_, err := held(t, time.Hour).Lock(after(t, time.Second), "k")
			return err
		}, []error{ErrNotAcquired, ErrTaken, context.DeadlineExceeded}},
		{"lock: deadline in the first attempt", func(t *testing.T) error {
			c := newCluster(t, 3)
			c.each(way{lose: true}, 0, 1, 2)
			_, err := c.Lock(after(t, time.Millisecond), "k")
			return err
		}, []error{ErrNotAcquired, context.DeadlineExceeded}},
		{"trylock: cancelled before", func(t *testing.T) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := newCluster(t, 3).TryLock(ctx, "k")
			return err
		}, []error{ErrNotAcquired, context.Canceled}},
		{"unlock: run out", func(t *testing.T) error {
			lock := newCluster(t, 3).mustTryLock(t, "k")
			time.Sleep(ttl)
			return lock.Unlock(t.Context())
		}, []error{ErrLost}},
		{"unlock: somebody else has it", func(t *testing.T) error {
			c := newCluster(t, 3)
			lock := c.mustTryLock(t, "k")
			time.Sleep(ttl)
			c.masters[0].hold("k", time.Hour)
			c.masters[1].hold("k", time.Hour)
			return lock.Unlock(t.Context())
		}, []error{ErrLost, ErrTaken}},
		{"unlock: no answers", func(t *testing.T) error {
			c := newCluster(t, 3)
			lock := c.mustTryLock(t, "k")
			synctest.Wait() // all three granted
			c.each(way{down: errRefused}, 0, 1)
			return lock.Unlock(t.Context())
		}, []error{ErrNoQuorum}},
		{"unlock: the second", func(t *testing.T) error {
			lock := newCluster(t, 3).mustTryLock(t, "k")
			require.NoError(t, lock.Unlock(t.Context()))
			return lock.Unlock(t.Context())
		}, []error{ErrUnlocked}},
		{"trylock: closed", func(t *testing.T) error {
			c := newCluster(t, 3)
			require.NoError(t, c.Close(t.Context()))
			_, err := c.TryLock(t.Context(), "k")
			return err
		}, []error{ErrClosed}},
		{"trylock: no key", func(t *testing.T) error {
			_, err := newCluster(t, 3).TryLock(t.Context(), "")
			return err
		}, []error{ErrInvalid}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				err := tt.err(t)
				for _, sentinel := range sentinels {
					require.Equal(t, contains(tt.is, sentinel), errors.Is(err, sentinel), "%v in %v", sentinel, err)
				}
				require.Truef(t, strings.HasPrefix(err.Error(), "redlock: "), "%v", err)
			})
		})
	}
}

func contains(all []error, one error) bool {
	for _, err := range all {
		if err == one { //nolint:errorlint // the sentinel itself is meant
			return true
		}
	}
	return false
}

func tryLock(nodes ...condition) func(*testing.T) error {
	return func(t *testing.T) error {
		t.Helper()
		c := newCluster(t, len(nodes))
		c.arrange(nodes, "k")
		_, err := c.TryLock(t.Context(), "k")
		return err
	}
}

func TestTooSlowIsToldFromTakenAndNoQuorum(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1)
		call, err := c.call(t.Context(), "trylock", "k", nil)
		require.NoError(t, err)
		r := c.core.begin(&call, noFirst, false)
		time.Sleep(ttl)
		err = r.win()
		err = call.explain(t.Context(), r, err)
		for _, sentinel := range sentinels {
			require.Equal(t, contains([]error{ErrNotAcquired, ErrTooSlow}, sentinel), errors.Is(err, sentinel), "%v", sentinel)
		}
	})
}

// Each node fails in its own way, and each way can be had from the one error.
func TestTheCauseOfEachNodeIsFound(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	dns := &net.DNSError{Err: "no such host", Name: "redis-b.internal", IsNotFound: true}
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		c.each(way{down: refused}, 0)
		c.each(way{down: dns}, 1)
		c.each(bars("READONLY You can't write against a read only replica.", 0), 2)
		c.each(way{lose: true}, 3, 4)
		_, err := c.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, ErrNoQuorum)
		requireNodes(t, err, 0, 1, 2)

		e, ok := errors.AsType[*QuorumError](err)
		require.True(t, ok)
		require.Equal(t, []int{0, 0, 1, 2}, []int{e.Granted, e.Refused, e.Unknown, e.Unsent}, "three decide, two are open")
		require.Equal(t, []string{"trylock", "k"}, []string{e.Op, e.Key})
		n, ok := errors.AsType[*NodeError](err)
		require.True(t, ok)
		require.Same(t, e.Errs[0], n)
		op, ok := errors.AsType[*net.OpError](err)
		require.True(t, ok)
		require.Same(t, refused, op)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		d, ok := errors.AsType[*net.DNSError](err)
		require.True(t, ok)
		require.Same(t, dns, d)
		server, ok := errors.AsType[redis.Error](err)
		require.True(t, ok)
		require.ErrorContains(t, server, "READONLY")
		require.NotErrorIs(t, err, syscall.ECONNRESET)
	})
}

// requireNodes holds that the error tells of these nodes and of no others, and names each once.
func requireNodes(t *testing.T, err error, nodes ...int) {
	t.Helper()
	var told []int
	for _, n := range quorumError(t, err).Errs {
		told = append(told, n.Index)
		require.Equal(t, fmt.Sprintf("10.0.0.%d:6379", n.Index+1), n.Name)
		require.Equal(t, 1, strings.Count(err.Error(), n.Name))
	}
	require.Equal(t, nodes, told)
}

func TestTheCauseOfANodeThatFailedInUnlockIsFound(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 5)
		lock := c.mustTryLock(t, "k")
		synctest.Wait()
		c.each(bars("NOPERM User app has no permissions to run the 'evalsha' command", 0), 0)
		c.each(bars("BUSY Redis is busy running a script.", 0), 2)
		c.each(way{lose: true}, 4)
		err := lock.Unlock(t.Context())
		require.ErrorIs(t, err, ErrNoQuorum)
		requireNodes(t, err, 0, 2, 4)
		e := quorumError(t, err)
		require.Equal(t, []int{2, 0, 3, 0}, []int{e.Granted, e.Refused, e.Unknown, e.Unsent}, "two are rid of it")
		require.Equal(t, "unlock", e.Op)
		require.True(t, redis.HasErrorPrefix(e.Errs[0], "NOPERM"), "the client's own questions work")
		require.True(t, redis.HasErrorPrefix(e.Errs[1], "BUSY"))
		require.ErrorIs(t, err, errSilence)
	})
}

func TestNodeErrorWithoutACauseIsNoPanic(t *testing.T) {
	t.Parallel()
	n := &NodeError{Name: "a:1"}
	require.Equal(t, "node 0 (a:1): <nil>", n.Error())
	require.NotPanics(t, func() { _ = n.LogValue().String() })
	require.NotErrorIs(t, n, ErrTaken)
	require.NotPanics(t, func() { _, _ = errors.AsType[net.Error](n) })
	require.Equal(t, "redlock: not acquired:  \"\": no node was asked", (&QuorumError{}).Error())
}
