package quorum_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// resumeWhenAsked resumes the token on the key that it is told, says how that went, and gives the lock back when it is told
// to.
func resumeWhenAsked(l *redlock.Locker) error {
	ctx := context.Background()
	var lock *redlock.Lock
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var err error
		if key, token, resumes := strings.Cut(in.Text(), " "); resumes {
			lock, err = l.Resume(ctx, key, token)
		} else {
			err = errors.Join(lock.Extend(ctx), lock.Unlock(ctx))
		}
		switch {
		case err == nil:
			fmt.Println("done")
		case errors.Is(err, redlock.ErrLost):
			fmt.Println("lost")
		default:
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	return nil
}

// Whoever resumes takes the lock over, so of two that were given one token one has the lock, and the other hears that it has
// not. That the giver's Locker is closed meanwhile harms neither.
func TestOfTwoProcessesThatResumeOneTokenOneHolds(t *testing.T) {
	t.Parallel()
	rounds := 1000
	switch {
	case testing.Short():
		rounds = 50
	case raceDetector:
		rounds = 250
	}
	tr := begin(t)
	receivers := [2]*child{tr.child("resumer"), tr.child("resumer")}
	wins := [2]int{}
	for round := range rounds {
		wins[tr.resumeTwice(fmt.Sprint("k", round), receivers)]++
	}
	t.Logf("%v of %d rounds", wins, rounds)
	require.NotContains(t, wins, 0, "one was never in time to win, so they never met")
}

// resumeTwice has both resume the lock of a giver that is closed meanwhile, and tells who held it.
func (tr *trial) resumeTwice(key string, receivers [2]*child) (winner int) {
	tr.t.Helper()
	giver, err := redlock.Open(tr.urls(true), redlock.WithPrefix(tr.prefix), redlock.WithNodeTimeout(generous))
	require.NoError(tr.t, err)
	// On all five, so that of two receivers one has three: of a bare three one might have two, and the other one.
	given := tr.lockAll(giver, key).Detach()
	require.NotEmpty(tr.t, given)

	var closing errgroup.Group
	for _, c := range receivers {
		c.tell(key + " " + given)
	}
	closing.Go(func() error { return giver.Close(tr.t.Context()) })
	said := [2]string{receivers[0].hear(), receivers[1].hear()}
	require.ElementsMatch(tr.t, []string{"done", "lost"}, said[:], key)
	require.NoError(tr.t, closing.Wait())
	if said[1] == "done" {
		winner = 1
	}

	tr.heldByOthersThan(given, 1, key)
	receivers[winner].tell("unlock")
	require.Equal(tr.t, "done", receivers[winner].hear(), key)
	tr.heldByOthersThan(given, 0, key)
	tr.free(key) // of what the loser gave back
	return winner
}

// heldByOthersThan waits until the nodes carry so many tokens besides the one: who lost gives back what it had.
func (tr *trial) heldByOthersThan(token string, others int, key string) {
	tr.t.Helper()
	require.True(tr.t, until(generous, func() bool {
		found := make(map[string]struct{})
		for _, v := range tr.values(key) {
			if v != "" && v != token {
				found[v] = struct{}{}
			}
		}
		return len(found) == others
	}), "%s is held by %v", key, tr.values(key))
}

// What a Resume had on some nodes when it failed goes back to the token that it was given, so that it can be called again.
func TestAResumeThatFailedForHungNodesIsTriedAgain(t *testing.T) {
	t.Parallel()
	hang := map[string]func(n *testcluster.Node) error{
		"stopped": func(n *testcluster.Node) error { return n.Stop(t.Context()) },
		"silent":  func(n *testcluster.Node) error { n.Proxy().BlackHole(true); return nil },
		"answers lost": func(n *testcluster.Node) error {
			n.Proxy().DropReplies(8, testcluster.ThenClose, "EVALSHA", "EVAL")
			return nil
		},
	}
	for name, trouble := range hang {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := begin(t, testcluster.Stop)
			const timeout = 400 * time.Millisecond
			giver, receiver := tr.open(), tr.open(redlock.WithNodeTimeout(timeout))
			tr.warm(receiver)
			token := tr.lockAll(giver, "k", redlock.WithTTL(time.Minute)).Detach()
			for _, n := range tr.Nodes[1:4] {
				require.NoError(t, trouble(n))
			}
			for range 2 {
				mustBeInTime(t, timeout, func() {
					_, err := receiver.Resume(t.Context(), "k", token, redlock.WithTTL(time.Minute))
					require.ErrorIs(t, err, redlock.ErrNoQuorum)
					require.NotErrorIs(t, err, redlock.ErrLost, "it was not lost, and may be had again")
				})
			}
			for _, n := range tr.Nodes {
				n.Proxy().Pass()
				require.NoError(t, n.Continue(t.Context()))
			}
			var lock *redlock.Lock
			require.True(t, until(10*time.Second, func() (done bool) {
				var err error
				if lock, err = receiver.Resume(t.Context(), "k", token, redlock.WithTTL(time.Minute)); err != nil {
					require.ErrorIs(t, err, redlock.ErrNoQuorum)
					require.NotErrorIs(t, err, redlock.ErrLost)
				}
				return err == nil
			}))
			require.NoError(t, lock.Extend(t.Context()))
			_, err := giver.Resume(t.Context(), "k", token)
			require.ErrorIs(t, err, redlock.ErrLost, "it was taken over")
			require.NoError(t, unlockAgain(t, lock))
			tr.free("k") // of nodes that were given back behind the last success
		})
	}
}
