package redlock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
)

// earLinger is how long an ear stays open after the last waiter, for the next.
const earLinger = time.Second

// ears are the subscriptions of a Locker, one for each node that a caller waits at.
type ears struct {
	mu     sync.Mutex // protects what follows, and how many use an ear
	byNode map[int]*ear
	closed bool // none is opened any more
}

// ear is the subscription on one node.
type ear struct {
	core  *core
	node  int
	end   context.CancelFunc
	using int
	stop  func() bool // of the timer that closes it; nil while it is used

	mu    sync.Mutex // protects what follows
	up    bool
	heads map[string][]*queuer // by queue, in the order in which they came
	stray followed             // that nobody here waited for
}

// open returns the ear at a node, or nil once the Locker is closed; who opens one closes it.
func (s *ears) open(c *core, at int) *ear {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	e := s.byNode[at]
	if e == nil {
		ctx, end := context.WithCancel(context.Background()) //nolint:forbidigo // it serves many callers, and ends when none is left
		e = &ear{core: c, node: at, end: end, heads: make(map[string][]*queuer)}
		if s.byNode == nil {
			s.byNode = make(map[int]*ear)
		}
		s.byNode[at] = e
		go c.listeners[at].Listen(ctx, c.prefix+channelTag+c.id.(string), e.stand, e.hear, e.fail)
	}
	if e.stop != nil {
		e.stop()
		e.stop = nil
	}
	e.using++
	return e
}

// close closes the ear a while after nobody uses it any more.
func (s *ears) close(e *ear) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.using--; e.using > 0 {
		return
	}
	e.stop = e.core.clock.AfterFunc(earLinger, func() { s.shut(e) })
}

func (s *ears) shut(e *ear) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.using == 0 && s.byNode[e.node] == e {
		delete(s.byNode, e.node)
		e.end()
	}
}

// shutAll closes the ears that nobody uses at once, for Close.
func (s *ears) shutAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for i, e := range s.byNode {
		delete(s.byNode, i)
		e.mu.Lock()
		for list := range e.heads {
			e.core.passOn(e.node, list)
		}
		e.mu.Unlock()
		e.end()
	}
}

// passOn takes this process off a queue, and passes on what it may have been told.
func (c *core) passOn(at int, list string) {
	now := c.clock.Now()
	q := c.queueOf(c.prefix + strings.TrimPrefix(list, c.prefix+queueTag))
	c.group.Quit(at, q, true, ignored{}, now, now+2*c.nodeTimeout)
}

func (e *ear) stand(up bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.up = up
	if up {
		for _, all := range e.heads {
			for _, q := range all {
				q.w.notify()
			}
		}
	}
}

func (e *ear) stands() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.up
}

var errStrangeHint = errors.New("a hint that names no queue")

// hear wakes the head that is named. A hint for somebody who has left meanwhile, or could not take himself off, is passed on; one
// of no queue is told, and nothing more.
func (e *ear) hear(list string) {
	e.mu.Lock()
	var q *queuer
	if all := e.heads[list]; len(all) > 0 {
		q = all[0]
	}
	ours := strings.HasPrefix(list, e.core.prefix+queueTag)
	pass := q == nil && ours && e.stray.another(e.core.clock.Now())
	e.mu.Unlock()
	switch {
	case q != nil:
		q.hint(e.node)
	case pass:
		e.core.passOn(e.node, list)
	case ours:
		e.core.troubled(e.node, errTooManyHints)
	default:
		e.core.troubled(e.node, errStrangeHint)
	}
}

func (e *ear) fail(err error) { e.core.troubled(e.node, err) }

func (e *ear) await(list string, q *queuer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Contains(e.heads[list], q) {
		e.heads[list] = append(e.heads[list], q)
	}
}

func (e *ear) forget(list string, q *queuer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rest := slices.DeleteFunc(e.heads[list], func(o *queuer) bool { return o == q }); len(rest) > 0 {
		e.heads[list] = rest
	} else {
		delete(e.heads, list)
	}
}

var _ node.Hearer = (*queuer)(nil)
