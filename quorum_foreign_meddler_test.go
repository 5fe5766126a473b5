package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/redlock"
)

// meddler does something with one key after the other, by handles that may have lost it, while others take it and leave it.
type meddler struct {
	tr      *trial
	nodes   []int
	lockers [2]*redlock.Locker
	deeds   *deeds
	name    string
	random  *rand.Rand

	key     string
	handles []*redlock.Lock
	token   string // of a handle that was detached
	theirs  map[int]*belonging
	count   int
}

const stepsOfAKey = 40

// run goes on until all of them together have done so many steps beside something of others.
func (m *meddler) run(ctx context.Context, steps int64, done *atomic.Int64) error {
	for done.Load() < steps {
		m.count++
		m.key, m.handles, m.token, m.theirs = fmt.Sprintf("%s.%d", m.name, m.count), nil, "", make(map[int]*belonging)
		for range stepsOfAKey {
			if err := m.step(ctx, done); err != nil {
				return fmt.Errorf("key %s: %w", m.key, err)
			}
		}
		for _, handle := range m.handles {
			_ = handle.Unlock(ctx)
		}
	}
	return nil
}

// step is one thing of ours with one of the others' before it or at the same time, and a look at what they have then.
func (m *meddler) step(ctx context.Context, done *atomic.Int64) error {
	random := rand.New(rand.NewPCG(m.random.Uint64(), 0))
	others := func() error { return m.others(ctx, random) }
	var g errgroup.Group
	if m.random.IntN(2) == 0 {
		g.Go(others)
	} else if err := others(); err != nil {
		return err
	}
	what, err := m.ours(ctx)
	if err := errors.Join(err, g.Wait()); err != nil {
		return err
	}
	if err := m.check(ctx); err != nil {
		return fmt.Errorf("%s: %w", deedNames[what], err)
	}
	if len(m.theirs) > 0 {
		done.Add(1)
	}
	return nil
}

// ours does something with a handle, or makes a new one. That it fails is no fault: mostly it must.
func (m *meddler) ours(ctx context.Context) (deed, error) {
	what := deed(m.random.IntN(int(repairing)))
	var err error
	switch handle := m.handle(); {
	case what == resuming && m.token != "":
		handle, err = m.locker().Resume(ctx, m.key, m.token, m.terms()...)
		m.keep(handle, err)
	case what == trying || handle == nil:
		what = trying
		handle, err = m.locker().TryLock(ctx, m.key, m.terms()...)
		m.keep(handle, err)
	case what == unlocking:
		err = handle.Unlock(ctx)
	case what == leaving:
		err = handle.Leave(ctx, time.Duration(1+m.random.IntN(3000))*time.Millisecond)
	case what == detaching:
		if token := handle.Detach(); token != "" {
			m.token = token
		} else {
			err = redlock.ErrLost
		}
	default:
		what = extending
		err = handle.Extend(ctx)
	}
	if err == nil {
		m.deeds[what].Add(1)
	}
	if errors.Is(err, redlock.ErrInvalid) {
		return what, err
	}
	return what, nil
}

func (m *meddler) locker() *redlock.Locker { return m.lockers[m.random.IntN(len(m.lockers))] }

// terms are some for a lock: every kind goes by scripts or commands of its own.
func (m *meddler) terms() []redlock.LockOption {
	terms := []redlock.LockOption{redlock.WithTTL(10 * time.Second)}
	switch m.random.IntN(4) {
	case 0:
		terms = append(terms, redlock.WithFencing())
	case 1:
		terms = append(terms, redlock.WithLabel("somebody"))
	case 2:
		terms = append(terms, redlock.WithTTL(400*time.Millisecond))
	}
	return terms
}

func (m *meddler) handle() *redlock.Lock {
	if len(m.handles) == 0 {
		return nil
	}
	return m.handles[m.random.IntN(len(m.handles))]
}

func (m *meddler) keep(lock *redlock.Lock, err error) {
	if err != nil {
		return
	}
	m.handles = append(m.handles, lock)
	if len(m.handles) > 4 {
		m.handles = slices.Delete(m.handles, 0, 1)
	}
}
