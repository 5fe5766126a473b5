package quorum_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// scarcities are what a held lock must be extended and given back in, all five nodes at once.
var scarcities = map[string]func(tr *trial, node int){
	"no memory": func(tr *trial, node int) {
		tr.do(node, []any{"config", "set", "maxmemory", "0"}, "config", "set", "maxmemory", "1")
	},
	"no rights but the lock's own": func(tr *trial, node int) {
		tr.must(node, "acl", "setuser", serviceUser, "-@all",
			"+get", "+del", "+pexpire", "+pttl", "+eval", "+evalsha") // neither +set, nor anything of counters and lists
	},
	"wrong types beside the key": func(tr *trial, node int) {
		for _, tag := range []string{counterTag, "~q:"} {
			for _, key := range []string{"k", "k2"} {
				name := tr.prefix + tag + key
				tr.must(node, "del", name)
				tr.must(node, "hset", name, "a", "b")
				tr.foreign = append(tr.foreign, name)
			}
		}
	},
}

// serviceUser is who the lock is taken by where rights are taken away: the test keeps its own.
const serviceUser = "service"

// Whatever a node lacks or has beside the lock, the lock's own part works: its keys are prolonged, and deleted.
func TestAHeldLockIsExtendedAndGivenBackWhereNothingElseWorks(t *testing.T) {
	t.Parallel()
	kinds := map[string][]redlock.LockOption{
		"plain":  nil,
		"fenced": {redlock.WithFencing()},
		"keys":   {redlock.WithKeys("k2"), redlock.WithFencing()},
	}
	for scarcity, impose := range scarcities {
		t.Run(scarcity, func(t *testing.T) {
			t.Parallel()
			tr := begin(t, testcluster.Config)
			urls := make([]string, len(tr.Nodes))
			for i, n := range tr.Nodes {
				urls[i] = "redis://" + serviceUser + ":secret@" + n.Addr()
				tr.do(i, []any{"acl", "deluser", serviceUser}, "acl", "setuser", serviceUser, "on", ">secret", "~*", "&*", "+@all")
			}
			l := tr.openAt(urls, redlock.WithTTL(time.Minute))
			for kind, opts := range kinds {
				tr.surviveScarcity(l, kind, opts, impose)
			}
		})
	}
}

func (tr *trial) surviveScarcity(l *redlock.Locker, kind string, opts []redlock.LockOption, impose func(tr *trial, node int)) {
	tr.t.Helper()
	lock := tr.lockAll(l, "k", opts...)
	for _, look := range tr.looks { // so that a prolongation can be seen; not so much that a clock must have leapt
		require.NoError(tr.t, look.PExpire(tr.t.Context(), tr.prefix+"k", 55*time.Second).Err())
	}
	for node := range tr.Nodes {
		impose(tr, node)
	}
	require.NoError(tr.t, lock.Extend(tr.t.Context()), kind)
	for i, look := range tr.looks {
		require.True(tr.t, until(generous, func() bool {
			return look.PTTL(tr.t.Context(), tr.prefix+"k").Val() > 56*time.Second
		}), "%s, node %d", kind, i)
	}
	require.NoError(tr.t, lock.Unlock(tr.t.Context()), kind)
	for _, key := range []string{"k", "k2"} {
		tr.gone(key)
	}
	for node := range tr.Nodes {
		tr.must(node, "config", "set", "maxmemory", "0")
		tr.must(node, "acl", "setuser", serviceUser, "+@all")
		for _, key := range tr.foreign {
			tr.must(node, "del", key)
		}
	}
}

// A node that cannot store the counter grants, and its vote is missing: the fence of the others is as good.
func TestACounterOfAWrongTypeCostsThatNodesVoteAndIsLeftAlone(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Config)
	l := tr.open(redlock.WithTTL(time.Minute), redlock.WithFencing())
	for _, wrong := range []int{2, 3} {
		name := tr.prefix + counterTag + "k"
		for node := range wrong {
			tr.must(node, "del", name)
			tr.must(node, "rpush", name, "no number")
		}
		tr.foreign = append(tr.foreign, name)
		lock, err := l.TryLock(t.Context(), "k")
		if wrong == 2 {
			require.NoError(t, err)
			require.Positive(t, lock.Fence())
			require.NoError(t, lock.Unlock(t.Context()))
		} else {
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			require.NotErrorIs(t, err, redlock.ErrTaken)
			require.ErrorContains(t, err, "WRONGTYPE")
			require.Len(t, quorumError(t, err).Errs, 3)
		}
		tr.gone("k")
		for node := range wrong {
			require.Equal(t, []string{"no number"}, tr.looks[node].LRange(t.Context(), name, 0, -1).Val(), fmt.Sprint(node))
		}
	}
}
