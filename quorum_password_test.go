package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

const (
	rightPassword = "open-sesame"
	otherPassword = "another-sesame"
)

// secured is a trial whose masters ask for a password. The test looks at them with a user of its own.
func secured(t *testing.T) *trial {
	t.Helper()
	tr := begin(t, testcluster.Config)
	usual := tr.looks
	looks := make([]*redis.Client, len(usual))
	for i, n := range tr.Nodes {
		tr.must(i, "acl", "setuser", "looker", "on", ">look", "~*", "&*", "+@all")
		looks[i] = redis.NewClient(&redis.Options{Addr: n.Direct(), Username: "looker", Password: "look"})
	}
	tr.looks = looks
	t.Cleanup(func() { // before end looks at the masters
		ctx, cancel := bounded()
		defer cancel()
		for _, look := range looks {
			require.NoError(t, look.ConfigSet(ctx, "requirepass", "").Err())
			require.NoError(t, look.Close())
		}
		tr.looks = usual
		for _, look := range usual {
			require.NoError(t, look.ACLDelUser(ctx, "looker").Err())
		}
	})
	for i := range tr.Nodes {
		tr.password(i, rightPassword)
	}
	return tr
}

// password changes what a node asks for and makes everybody greet it anew.
func (tr *trial) password(node int, password string) {
	tr.t.Helper()
	tr.must(node, "config", "set", "requirepass", password)
	tr.must(node, "client", "kill", "user", "default")
}

// load is callers that take and give back locks of their own, and hold each release against what is left.
type load struct {
	tr                *trial
	l                 *redlock.Locker
	cycles, wrong     atomic.Int64 // wrong: failed, and named the password
	acquired, refused atomic.Int64
}

func (d *load) run(ctx context.Context, key string) error {
	for ctx.Err() == nil {
		lock, err := d.l.TryLock(ctx, key)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil
		case err != nil:
			if errors.Is(err, redlock.ErrTaken) { // the keys are the caller's own
				return fmt.Errorf("trylock: %w", err)
			}
			d.refused.Add(1)
			d.name(err)
			time.Sleep(5 * time.Millisecond)
			continue
		}
		d.acquired.Add(1)
		if err := d.release(lock, key); err != nil {
			return err
		}
		d.cycles.Add(1)
	}
	return nil
}

// release gives the lock back, and is content with an error only. After a success fewer than a quorum hold it.
func (d *load) release(lock *redlock.Lock, key string) error {
	err := lock.Unlock(context.Background())
	switch {
	case errors.Is(err, redlock.ErrNoQuorum):
		d.name(err)
		return nil
	case err != nil:
		return fmt.Errorf("unlock: %w", err)
	}
	held := make(map[string]int) // by token: earlier ones may still be on nodes that bar us
	for _, look := range d.tr.looks {
		token, err := look.Get(context.Background(), d.tr.prefix+key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		held[token]++
	}
	delete(held, "")
	for _, n := range held {
		if n >= 3 {
			return fmt.Errorf("an unlock is said to be done and %d nodes hold the key", n)
		}
	}
	return nil
}

func (d *load) name(err error) {
	e, ok := errors.AsType[*redlock.QuorumError](err)
	if !ok {
		return
	}
	for _, node := range e.Errs {
		if redis.HasErrorPrefix(node.Err, "WRONGPASS") || redis.HasErrorPrefix(node.Err, "NOAUTH") {
			d.wrong.Add(1)
			return
		}
	}
}

// A password is changed on one node, then on three, under load. No release counts as done that was not answered: a refused
// greeting leaves the client's commands looking answered. Errors name the reason, and all heals with the password.
func TestPasswordsThatChangeUnderLoadAreNamedAndHeal(t *testing.T) {
	t.Parallel()
	tr := secured(t)
	urls := make([]string, len(tr.Nodes))
	for i, n := range tr.Nodes {
		urls[i] = "redis://:" + rightPassword + "@" + n.Addr()
	}
	l := tr.openAt(urls, redlock.WithNodeTimeout(time.Second), redlock.WithTTL(5*time.Second))
	tr.warm(l)
	held := tr.lockAll(l, "held", redlock.WithTTL(time.Minute))
	d := &load{tr: tr, l: l}
	ctx, end := context.WithCancel(t.Context())
	var g errgroup.Group
	for i := range 8 {
		g.Go(func() error { return d.run(ctx, fmt.Sprint("k", i)) })
	}
	grows := func(n *atomic.Int64) {
		t.Helper()
		before := n.Load()
		require.True(t, until(20*time.Second, func() bool { return n.Load() >= before+20 }))
	}
	grows(&d.cycles)
	tr.password(0, otherPassword)
	grows(&d.cycles)
	tr.password(1, otherPassword)
	tr.password(2, otherPassword)
	grows(&d.wrong)
	_, err := l.Lock(endsIn(t, time.Minute), "barred") // does not wait for what waiting cannot mend
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "WRONGPASS")
	err = held.Unlock(t.Context())
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	require.ErrorContains(t, err, "WRONGPASS")
	require.Equal(t, []int{0, 1, 2}, tr.holders("held"))
	requireNoSecrets(t, []any{err, l, held}, []string{rightPassword, otherPassword})

	for node := range 3 {
		tr.password(node, rightPassword)
	}
	grows(&d.cycles)
	end()
	require.NoError(t, g.Wait())
	t.Logf("%d acquired, %d refused, %d errors named the password", d.acquired.Load(), d.refused.Load(), d.wrong.Load())
	if err := unlockAgain(t, held); err != nil {
		require.ErrorIs(t, err, redlock.ErrUnlocked)
	}
	tr.warm(l)
}

// Passwords that were taken away and came: a client without one is told so.
func TestAPasswordThatIsAskedForAllOfASuddenIsNamed(t *testing.T) {
	t.Parallel()
	tr := secured(t)
	for i := range tr.Nodes {
		tr.must(i, "config", "set", "requirepass", "")
	}
	l := tr.open()
	tr.warm(l)
	for i := range 3 {
		tr.password(i, otherPassword)
	}
	require.True(t, until(20*time.Second, func() bool {
		_, err := l.TryLock(t.Context(), "k")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		for _, node := range quorumError(t, err).Errs {
			if redis.HasErrorPrefix(node.Err, "NOAUTH") {
				return true
			}
		}
		return false
	}))
	for i := range 3 {
		tr.password(i, "")
	}
	tr.warm(l)
}
