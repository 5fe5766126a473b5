package quorum_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/redlock"
)

const (
	renewedCallers = 20
	renewedRounds  = 50 // a caller
	renewPeriod    = 5 * time.Millisecond
	farAway        = 50 * time.Millisecond
)

// F24. One node is far away, so that renewals and repairs of it are under way when the lock is given back. None of them makes
// a key after that. The TTL is long: what was made would be seen at the end.
func TestRenewalsAndRepairsInFlightMakeNoKeyAfterUnlock(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open(redlock.WithTTL(10 * time.Minute))
	tr.warm(l)
	tr.Nodes[4].Proxy().Delay(farAway/2, farAway/2)
	const enough = renewedCallers * renewedRounds / 20
	end := time.Now().Add(time.Minute) // a slow machine needs more rounds
	var extended, repaired, rounds atomic.Int64
	var g errgroup.Group
	for caller := range renewedCallers {
		random := rand.New(rand.NewPCG(uint64(caller), 24))
		g.Go(func() error {
			for round := 0; round < renewedRounds || repaired.Load() <= enough && time.Now().Before(end); round++ {
				n, again, err := tr.renewAndUnlock(l, fmt.Sprintf("k%d-%d", caller, round), random)
				if err != nil {
					return err
				}
				extended.Add(int64(n))
				rounds.Add(1)
				if again {
					repaired.Add(1)
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	// Behind all that was sent before, on each lane; a key that is made after that would have to come from nowhere.
	require.NoError(t, unlockAgain(t, tr.lockAll(l, "last")))
	require.True(t, until(generous, func() bool { return len(tr.holders("last")) == 0 }))
	require.Empty(t, tr.keys())
	t.Logf("%d Extends, in %d of %d rounds one repaired a node", extended.Load(), repaired.Load(), rounds.Load())
	require.Greater(t, repaired.Load(), int64(enough))
}

// renewAndUnlock extends a lock every few milliseconds, lets a node forget it meanwhile, and gives it back at any moment of that.
func (tr *trial) renewAndUnlock(l *redlock.Locker, key string, random *rand.Rand) (extends int, repaired bool, err error) {
	lock, err := l.TryLock(tr.t.Context(), key)
	if err != nil {
		return 0, false, err
	}
	if !until(time.Minute, func() bool { return tr.carriers(key) >= 4 }) { // of a bare three none may forget
		return 0, false, errors.New("only three nodes carry the key")
	}
	var g errgroup.Group
	g.Go(func() error {
		for {
			err := lock.Extend(tr.t.Context())
			if errors.Is(err, redlock.ErrUnlocked) {
				return nil
			}
			if err != nil {
				return err
			}
			extends++
			time.Sleep(renewPeriod)
		}
	})
	forgetful := random.IntN(5)
	time.Sleep(time.Duration(random.Int64N(int64(2 * renewPeriod))))
	forgot := tr.looks[forgetful].Del(tr.t.Context(), tr.prefix+key).Err()
	time.Sleep(time.Duration(random.Int64N(int64(farAway))))
	seen := tr.looks[forgetful].Exists(tr.t.Context(), tr.prefix+key).Val()
	unlocked := lock.Unlock(tr.t.Context())
	return extends, seen == 1, errors.Join(forgot, unlocked, g.Wait())
}

// carriers counts the nodes that have the key, in any goroutine.
func (tr *trial) carriers(key string) (n int64) {
	for _, look := range tr.looks {
		n += look.Exists(tr.t.Context(), tr.prefix+key).Val()
	}
	return n
}
