package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// siege does to nodes whatever may happen to them while the assumptions hold. Two hands do it, each to one node of its own at a time,
// so that a majority is up at every moment; and only one node at a time comes back without what it knew.
type siege struct {
	tr      *trial
	seed    uint64
	others  *bystanders
	harms   []*harm
	replies int64 // to be lost
	lost    atomic.Int64
	forgets sync.Mutex // held by the hand that makes a node forget

	mu   sync.Mutex // protects what follows
	ill  map[int]bool
	most int // nodes that were ill at once
}

// harm is one kind of what is done.
type harm struct {
	name   string
	wanted int64
	done   atomic.Int64
	do     func(i int, random *rand.Rand) error
}

// harms is how much is done to the nodes, by name.
type harms map[string]int64

// The names.
const (
	kills       = "kills"
	stops       = "stops"
	empties     = "empty restarts"
	partitions  = "partitions"
	holes       = "black holes"
	pauses      = "client pauses"
	flushes     = "flushed scripts"
	ahead       = "clocks ahead"
	behind      = "clocks behind"
	lostReplies = "lost replies"
)

// besiege is a siege that does so much at the least. Clocks are left out where the back end cannot move them.
func (tr *trial) besiege(much harms, others *bystanders, seed uint64) *siege {
	s := &siege{tr: tr, seed: seed, others: others, replies: much[lostReplies], ill: make(map[int]bool)}
	add := func(name string, do func(i int, random *rand.Rand) error) {
		s.harms = append(s.harms, &harm{name: name, wanted: much[name], do: do})
	}
	add(kills, s.kill)
	add(stops, s.stop)
	add(empties, s.empty)
	add(partitions, s.partition)
	add(holes, s.swallow)
	add(pauses, s.pause)
	add(flushes, s.flush)
	if tr.Nodes[0].Can(testcluster.Clock) {
		add(ahead, s.ahead)
		add(behind, s.behind)
	}
	return s
}

// lay goes on until ctx ends; in the end all nodes run.
func (s *siege) lay(ctx context.Context) error {
	var hands errgroup.Group
	for hand, nodes := range [][]int{{0, 1, 4}, {2, 3}} {
		hands.Go(func() error {
			random := rand.New(rand.NewPCG(s.seed, 1<<32+uint64(hand)))
			for ctx.Err() == nil {
				if err := s.strike(nodes[random.IntN(len(nodes))], random); err != nil {
					return err
				}
				upTo(random, 100*time.Millisecond)
			}
			return nil
		})
	}
	hands.Go(func() error { s.loseReplies(ctx, rand.New(rand.NewPCG(s.seed, 2<<32))); return nil })
	return hands.Wait()
}

// strike does one thing to one node.
func (s *siege) strike(i int, random *rand.Rand) error {
	h := s.choose(random)
	s.mark(i, true)
	defer s.mark(i, false)
	if err := errors.Join(h.do(i, random), s.awaitUse(i)); err != nil {
		return fmt.Errorf("node %d: %s: %w", i, h.name, err)
	}
	h.done.Add(1)
	return nil
}

// awaitUse returns when every Locker has answers of the node again. One that was silent is asked a second apart at the most, and until
// it has answered it is not up as far as they can know: a hand that went on would leave them without a majority.
func (s *siege) awaitUse(i int) error {
	const limit = 10 * time.Second // the machine may have little time for it
	var asking errgroup.Group
	for number, l := range s.tr.lockers {
		asking.Go(func() error {
			var last error
			answers := func() bool {
				seen, err := l.Inspect(s.tr.t.Context(), "k0")
				if last = err; err == nil {
					last = seen.Nodes[i].Err
				}
				return last == nil
			}
			if !until(limit, answers) {
				return fmt.Errorf("no answer to Locker %d within %v: %w", number, limit, last)
			}
			return nil
		})
	}
	return asking.Wait()
}

// choose chooses a kind: the more of it is still to be done, the more likely. Once all is done, any.
func (s *siege) choose(random *rand.Rand) *harm {
	left := func(h *harm) int64 { return max(h.wanted-h.done.Load(), 0) }
	var sum int64
	for _, h := range s.harms {
		sum += left(h)
	}
	if sum > 0 {
		at := random.Int64N(sum)
		for _, h := range s.harms {
			if at -= left(h); at < 0 {
				return h
			}
		}
	}
	return s.harms[random.IntN(len(s.harms))]
}

func (s *siege) mark(i int, ill bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ill {
		s.ill[i] = true
		s.most = max(s.most, len(s.ill))
	} else {
		delete(s.ill, i)
	}
}

func (s *siege) isIll(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ill[i]
}

// loseReplies lets commands be applied and their replies be lost, some at a time, on nodes that are well. What no command has met soon
// is taken back: on a node that is asked one thing at a time, since it was silent, it would make it silent for ever so long.
func (s *siege) loseReplies(ctx context.Context, random *rand.Rand) {
	commands := [][]string{nil, {"SET"}, {"EVALSHA"}, {"SET", "EVALSHA"}}
	for ctx.Err() == nil {
		i := random.IntN(len(s.tr.Nodes))
		if s.isIll(i) {
			time.Sleep(time.Millisecond)
			continue
		}
		then := testcluster.ThenClose
		if random.IntN(20) == 0 {
			then = testcluster.ThenSilent
		}
		n := 1 + random.IntN(24)
		p := s.tr.Nodes[i].Proxy()
		p.DropReplies(n, then, commands[random.IntN(len(commands))]...)
		upTo(random, 400*time.Millisecond)
		s.lost.Add(int64(n - p.Disarm()))
	}
}

// missing tells what is still to be done.
func (s *siege) missing() (all []string) {
	for _, h := range s.harms {
		if h.done.Load() < h.wanted {
			all = append(all, fmt.Sprintf("%s: %d of %d", h.name, h.done.Load(), h.wanted))
		}
	}
	if lost := s.lost.Load(); lost < s.replies {
		all = append(all, fmt.Sprintf("%s: %d of %d", lostReplies, lost, s.replies))
	}
	return all
}

func (s *siege) String() string {
	var all []string
	for _, h := range s.harms {
		all = append(all, fmt.Sprint(h.done.Load(), " ", h.name))
	}
	return fmt.Sprintf("%s, %d %s; at most %d nodes in trouble at once", strings.Join(all, ", "), s.lost.Load(), lostReplies, s.most)
}
