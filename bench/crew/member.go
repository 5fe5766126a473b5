package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/bench/contender"
)

// environ names the variable that makes a start of this program a member.
const environ = "REDLOCK_BENCH_CREW"

const (
	// failurePause keeps a contender that fails at once from spinning.
	failurePause = time.Millisecond
	// torn is more than what two pairs of readings differ by where none was torn.
	torn = 20 * time.Microsecond
	// warmTimeout is what the first connections get.
	warmTimeout = 10 * time.Second
)

// member is one process of the crew, seen from inside.
type member struct {
	Order
	contender contender.Contender
	take      func(ctx context.Context, key string) (contender.Held, error)
}

// ServeIfAsked returns at once unless this process was started as a member; then it
// does as it is told until its standard input ends, and exits.
func ServeIfAsked() {
	order := os.Getenv(environ)
	if order == "" {
		return
	}
	if err := serve(context.Background(), order, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve is a member's life: it writes an empty report when it is warm, and one for
// each window that it reads.
func serve(ctx context.Context, order string, in io.Reader, out io.Writer) (err error) {
	m, err := enlist(order)
	if err != nil {
		return err
	}
	reports := json.NewEncoder(out)
	if m.Once != nil {
		return reports.Encode(m.once(ctx))
	}
	defer func() { err = errors.Join(err, m.contender.Close()) }()
	if err := m.warm(ctx); err != nil {
		return err
	}
	if err := reports.Encode(&Report{}); err != nil {
		return err
	}
	for windows := json.NewDecoder(in); ; {
		var w Window
		if err := windows.Decode(&w); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := reports.Encode(m.work(ctx, w)); err != nil {
			return err
		}
	}
}

// once is the life of a newcomer. That it could not pay what it owed, where more come than the machine can serve, is a figure and
// does not end the run.
func (m *member) once(ctx context.Context) *Report {
	r := m.work(ctx, *m.Once)
	if err := m.contender.Close(); err != nil {
		r.fail(err)
	}
	return r
}

func enlist(order string) (*member, error) {
	m := &member{}
	if err := json.Unmarshal([]byte(order), &m.Order); err != nil {
		return nil, fmt.Errorf("crew: %w", err)
	}
	var err error
	if m.contender, err = contender.Open(m.Contender, m.Addrs); err != nil {
		return nil, err
	}
	m.take = m.contender.Acquire
	if m.Loop {
		trier, ok := m.contender.(contender.Trier)
		if !ok {
			return nil, errors.Join(fmt.Errorf("crew: %s cannot try", m.Contender), m.contender.Close())
		}
		m.take = trier.Try
	}
	return m, nil
}

// warm has every caller take a key of its own, all at the same time, so that there
// are as many connections as the callers will use.
func (m *member) warm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, warmTimeout)
	defer cancel()
	errs := make([]error, m.Callers)
	m.together(func(caller int) {
		held, err := m.contender.Acquire(ctx, fmt.Sprintf("warm:%d:%d", os.Getpid(), caller))
		if err == nil {
			err = held.Unlock(ctx)
		}
		errs[caller] = err
	})
	return errors.Join(errs...)
}

func (m *member) together(do func(caller int)) {
	var callers sync.WaitGroup
	for i := range m.Callers {
		callers.Go(func() { do(i) })
	}
	callers.Wait()
}

// work takes turns through a window, with all callers.
func (m *member) work(ctx context.Context, w Window) *Report {
	c := stopwatch(w.From)
	ctx, cancel := context.WithTimeout(ctx, w.Length+w.Drain-c.now())
	defer cancel()
	each := make([]Report, m.Callers)
	m.together(func(caller int) { m.takeTurns(ctx, w, c, caller, &each[caller]) })
	var all Report
	for i := range each {
		all.add(&each[i])
	}
	return &all
}

func (m *member) takeTurns(ctx context.Context, w Window, c clock, caller int, r *Report) {
	time.Sleep(-c.now())
	for asked := c.now(); asked < w.Length; asked = c.now() {
		held := m.await(ctx, w.Key, r)
		if held == nil {
			if !m.Loop {
				r.GaveUp = append(r.GaveUp, c.now()-asked)
			}
			return
		}
		had := c.now()
		time.Sleep(m.Hold)
		r.Turns = append(r.Turns, Turn{Caller: caller, Asked: asked, Had: had, Left: c.now()})
		// Whatever has ended: a lock that stays would be waited for by all others.
		if err := held.Unlock(context.WithoutCancel(ctx)); err != nil {
			r.fail(fmt.Errorf("unlock: %w", err))
		}
		if m.Once != nil {
			return
		}
	}
}

// await asks until it has the lock, however often the contender gives up, as its
// users have to; nil when ctx has ended.
func (m *member) await(ctx context.Context, key string, r *Report) contender.Held {
	for {
		held, err := m.take(ctx, key)
		switch {
		case err == nil:
			return held
		case ctx.Err() != nil:
			return nil
		case !m.Loop:
			r.fail(err)
			time.Sleep(failurePause)
		}
	}
}

// clock tells the time since a barrier. It compares the wall clock with the monotonic one once: the processes have only that in
// common, and a step of it must not reach the waits.
type clock struct {
	began time.Time
	at    time.Duration // of began, since the barrier
}

func stopwatch(barrier int64) clock {
	began := time.Now()
	return clock{began, untorn(func() time.Duration {
		now := time.Now()
		return time.Duration(now.UnixNano()-barrier) - now.Sub(began)
	})}
}

// untorn is how far the wall clock is from the monotonic one. [time.Now] reads the one after the other, and who loses the processor
// in between has them differ by as long, by which a section may seem to begin inside another's. What two in a row say is true.
func untorn(apart func() time.Duration) time.Duration {
	for last := apart(); ; {
		next := apart()
		if (next - last).Abs() < torn {
			return next
		}
		last = next
	}
}

func (c clock) now() time.Duration { return c.at + time.Since(c.began) }
