package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// story is the lock as client a holds it and client b wants it.
type story struct {
	*screen
	cluster  *testcluster.Cluster
	direct   []string // the masters' own addresses, for looking behind the scenes
	a, b     *client
	held     *redlock.Lock     // a's
	owners   map[string]string // by the mark of a token
	patience time.Duration     // for what takes a moment to be so
}

func newStory(ctx context.Context, cluster *testcluster.Cluster, s *screen) (*story, error) {
	st := &story{screen: s, cluster: cluster, owners: make(map[string]string), patience: healing}
	for _, n := range cluster.Nodes {
		st.direct = append(st.direct, n.Direct())
	}
	var err error
	if st.a, err = newClient("A", cluster.Addrs()); err != nil {
		return nil, err
	}
	if st.b, err = newClient("B", cluster.Addrs()); err != nil {
		return nil, errors.Join(err, st.a.locker.Close(ctx))
	}
	return st, nil
}

// close gives back what is held, whether or not ctx has ended. What a dead master may still have to be told is not waited
// for: the masters end with the story.
func (st *story) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
	defer cancel()
	err := errors.Join(st.a.locker.Close(ctx), st.b.locker.Close(ctx))
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// tell returns the error of the first claim that does not hold.
func (st *story) tell(ctx context.Context) error {
	st.say("A and B want the lock %q for %v: %d of %d masters must grant it, each within %v.", key, ttl, quorum, masters, nodeTimeout)
	chapters := []func(context.Context) error{
		st.taken,
		func(ctx context.Context) error {
			return st.oneLess(ctx, 4, "One master is killed, and B tries in vain")
		},
		func(ctx context.Context) error {
			return st.oneLess(ctx, 3, "A second one is killed: three are still enough")
		},
		st.noQuorum,
		st.back,
		st.again,
	}
	for _, chapter := range chapters {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	st.say("\nEverything that was said has been checked.")
	return nil
}

// untrue is a claim that does not hold.
func untrue(claim string, args ...any) error { return fmt.Errorf("demo: not so: "+claim, args...) }

func (st *story) taken(ctx context.Context) error {
	st.head("A takes the lock")
	lock, err := st.wins(ctx, st.a, masters)
	st.held = lock
	return err
}

// wins lets c take the lock, and claims that at least so many masters come to carry its key, and none another's.
func (st *story) wins(ctx context.Context, c *client, atLeast int) (*redlock.Lock, error) {
	t := c.try(ctx, c.locker.Lock)
	if t.err != nil {
		return nil, fmt.Errorf("demo: %s does not get the lock: %w", c.name, t.err)
	}
	left := t.lock.Remaining()
	st.outcome(t, "acquired")
	st.say("   A majority decides, and the slowest is not waited for. %s may trust the lock for %v.", c.name, round(left))
	views := st.settle(ctx, masters)
	for _, v := range views {
		if _, known := st.owners[v.mark]; !known && v.mark != "" {
			st.owners[v.mark] = c.name
		}
	}
	st.table(st.cluster.Addrs(), views, st.owners, c.name)
	switch {
	case t.votes.Granted < quorum:
		return nil, untrue("a majority granted: %s", tally(t.votes))
	case left <= 0 || left >= ttl:
		return nil, untrue("the lock is trusted for less than its life: %v", left)
	case st.ofOwner(views, c.name) < atLeast || st.ofOwner(views, c.name) != carrying(views):
		return nil, untrue("%d masters carry the key of %s, and none another's", atLeast, c.name)
	}
	return t.lock, nil
}

// ofOwner counts the masters that carry the key of the client of that name.
func (st *story) ofOwner(views []view, name string) int {
	n := 0
	for _, v := range views {
		if v.mark != "" && st.owners[v.mark] == name {
			n++
		}
	}
	return n
}

// oneLess kills the master i and lets b try while a majority still says that the key is taken.
func (st *story) oneLess(ctx context.Context, i int, title string) error {
	st.head("%s", title)
	if err := st.kill(ctx, i); err != nil {
		return err
	}
	if err := st.inVain(ctx, redlock.ErrTaken, "is told that it is taken"); err != nil {
		return err
	}
	if st.held.Remaining() <= 0 {
		return untrue("A still holds the lock")
	}
	st.say("   A still holds it, for %v more.", round(st.held.Remaining()))
	return st.shows(ctx, i, true, st.b.name)
}

func (st *story) settle(ctx context.Context, carry int) []view {
	return settle(ctx, st.direct, carry, st.patience)
}

func (st *story) kill(ctx context.Context, i int) error {
	if err := st.cluster.Nodes[i].Kill(ctx); err != nil {
		return fmt.Errorf("demo: node %d does not die: %w", i, err)
	}
	st.say("   node %d is dead", i)
	return nil
}

// inVain lets b try, and holds the try to its class and its bound.
func (st *story) inVain(ctx context.Context, class error, result string) error {
	t := st.b.try(ctx, st.b.locker.TryLock)
	if t.err == nil {
		return untrue("B does not get the lock")
	}
	st.outcome(t, result)
	switch {
	case !errors.Is(t.err, class) || !errors.Is(t.err, redlock.ErrNotAcquired):
		return untrue("the error is %q: %w", class, t.err)
	case t.took > bound:
		return untrue("B knows within %v: it took %v", bound, t.took)
	}
	return nil
}

// shows prints the masters, with their votes for who asked last, and claims that just the first up of them live, and
// that those carry a's key, or nobody's.
func (st *story) shows(ctx context.Context, up int, held bool, asked string) error {
	want := 0
	if held {
		want = up
	}
	views := st.settle(ctx, want)
	st.table(st.cluster.Addrs(), views, st.owners, asked)
	for i, v := range views {
		if v.up != (i < up) {
			return untrue("the first %d masters are up, and no other: node %d", up, i)
		}
	}
	if carrying(views) != want || st.ofOwner(views, st.a.name) != want {
		return untrue("%d masters carry A's key, and none another's", want)
	}
	return nil
}

func (st *story) noQuorum(ctx context.Context) error {
	st.head("A third one is killed: nobody can know any more, and B is told so")
	if err := st.kill(ctx, 2); err != nil {
		return err
	}
	if err := st.inVain(ctx, redlock.ErrNoQuorum, "is told that there is no quorum"); err != nil {
		return err
	}
	st.say("   Not \"taken\": what two of five say decides nothing. It knew within %v, the bound for any number of dead masters.", bound)
	return st.shows(ctx, 2, true, st.b.name)
}

func (st *story) back(ctx context.Context) error {
	st.head("The three come back with what they had written, and A gives the lock back")
	g, starting := errgroup.WithContext(ctx)
	for _, n := range st.cluster.Nodes[2:] {
		g.Go(func() error { return n.Start(starting, false) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("demo: not all come back: %w", err)
	}
	if err := st.shows(ctx, masters, true, ""); err != nil {
		return err
	}
	tries, err := unlock(ctx, st.held, healing)
	if err != nil {
		return err
	}
	st.say("   A %s (calls: %d)", st.paint(green, "has given it back"), tries)
	return st.shows(ctx, masters, false, "")
}

func (st *story) again(ctx context.Context) error {
	st.head("B takes the lock, and gives it back")
	st.say("   A client may look only once a second for a master that was dead: B may have to do with three.")
	st.patience = time.Second
	lock, err := st.wins(ctx, st.b, quorum)
	if err != nil {
		return err
	}
	st.patience = healing
	if _, err := unlock(ctx, lock, healing); err != nil {
		return err
	}
	if n := carrying(st.settle(ctx, 0)); n != 0 {
		return untrue("nothing is left on any master: %d carry the key", n)
	}
	st.say("   B has given it back: no master carries the key any more.")
	return nil
}
