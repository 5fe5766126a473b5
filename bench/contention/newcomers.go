package contention

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/bench/crew"
)

// maxNewcomers is more than any machine starts in a second. A machine that has
// maxAtOnce under way cannot keep up: the run fails before it is buried.
const (
	maxNewcomers = 1000
	maxAtOnce    = 200
)

// newcomers are processes that are started one after the other beside a crew.
type newcomers struct {
	starting sync.WaitGroup

	mu      sync.Mutex // protects what follows
	reports []*crew.Report
	errs    []error
}

// welcome starts the newcomers of a cell, evenly over the window, and returns at once.
func (b *bench) welcome(ctx context.Context, c Cell, w crew.Window) *newcomers {
	n := &newcomers{}
	if c.Newcomers == 0 {
		return n
	}
	room := make(chan struct{}, maxAtOnce)
	every := time.Second / time.Duration(c.Newcomers)
	count := int(w.Length / every)
	n.starting.Go(func() { // waited for by wait
		for i := range count {
			time.Sleep(time.Until(time.Unix(0, w.From).Add(time.Duration(i) * every)))
			select {
			case room <- struct{}{}:
			default:
				n.add(nil, fmt.Errorf("contention: %d newcomers are under way at once", maxAtOnce))
				return
			}
			n.starting.Go(func() { // waited for by wait
				defer func() { <-room }()
				n.add(crew.Newcomer(ctx, b.program, b.newcomer(c, w, i)))
			})
		}
	})
	return n
}

func (b *bench) newcomer(c Cell, w crew.Window, i int) crew.Order {
	if c.Elsewhere {
		w.Key = fmt.Sprintf("%s:elsewhere:%d", w.Key, i)
	}
	return crew.Order{Contender: c.Contender, Addrs: b.addrs, Callers: 1, Hold: b.Hold, Once: &w}
}

func (n *newcomers) add(r *crew.Report, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.errs = append(n.errs, err)
		return
	}
	n.reports = append(n.reports, r)
}

// wait returns the reports of all that were started.
func (n *newcomers) wait() ([]*crew.Report, error) {
	n.starting.Wait()
	return n.reports, errors.Join(n.errs...)
}
