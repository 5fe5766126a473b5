package quorum_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/redlock"
)

const (
	contendedRounds = 1000
	contenders      = 8
)

// One or two nodes lose the holder's key, and eight contenders are after it while it is extended: some get the nodes that
// lost it, for a moment. The holder's own are a majority all the time, so no Extend fails, and nobody else gets it.
func TestContendersOnTwoNodesDuringAnExtendLoseNothing(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	ttl := redlock.WithTTL(time.Minute)
	holder := tr.openAt(tr.urls(true), ttl)
	tr.warm(holder)
	var others []*redlock.Locker
	for range contenders {
		others = append(others, tr.openAt(tr.urls(true), ttl))
		tr.warm(others[len(others)-1])
	}
	random := rand.New(rand.NewPCG(7, 8))
	met := 0
	for round := range contendedRounds {
		key := fmt.Sprint("k", round)
		lock := tr.lockAll(holder, key)
		refused, err := tr.contend(lock, others, random.Perm(5)[:1+random.IntN(2)])
		require.NoError(t, err, "round %d", round)
		if refused {
			met++
		}
		require.NoError(t, lock.Err())
		require.NoError(t, lock.Unlock(t.Context()), "round %d", round)
	}
	t.Logf("in %d of %d rounds a contender had a node", met, contendedRounds)
	require.Greater(t, met, contendedRounds/10, "the contenders come between too seldom")
}

// contend lets nodes forget the lock's key and others try for it while it is extended. It tells whether one of them had a node.
func (tr *trial) contend(lock *redlock.Lock, others []*redlock.Locker, nodes []int) (had bool, err error) {
	granted := make([]int, len(others))
	var g errgroup.Group
	for _, i := range nodes {
		g.Go(func() error { return tr.looks[i].Del(tr.t.Context(), tr.prefix+lock.Key()).Err() })
	}
	for i, l := range others {
		g.Go(func() error {
			other, err := l.TryLock(tr.t.Context(), lock.Key())
			e, ok := errors.AsType[*redlock.QuorumError](err)
			if other != nil || !ok || !errors.Is(err, redlock.ErrNotAcquired) {
				return fmt.Errorf("a contender: %w", err)
			}
			granted[i] = e.Granted
			return nil
		})
	}
	g.Go(func() error {
		for range 3 {
			if err := lock.Extend(tr.t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	err = g.Wait()
	for _, n := range granted {
		had = had || n > 0
	}
	return had, err
}
