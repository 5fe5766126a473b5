package redlock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// Inspection is who holds one key, node by node, as it was when each answered.
type Inspection struct {
	Key    string // without the prefix
	Quorum int
	Nodes  []NodeState
}

// NodeState is what one node has under the key.
type NodeState struct {
	Index  int           // among the nodes given to New or Open, from 0
	Name   string        // its address
	Holder string        // a short digest of the holder's token, which tells holders apart and opens nothing; "": the key is free
	Label  string        // the holder's, see WithLabel
	TTL    time.Duration // negative: the key has no end, and is nobody's of this library
	Fence  int64         // the largest given out there; 0: none
	Waits  int           // how many Lockers wait in the queue there
	Owed   int           // how many keys this Locker owes to the node: they may be there, and are to be deleted when it answers
	Err    error         // why nothing is known of the node, a *NodeError; nil otherwise
}

// Holder returns the digest and the label of who has a quorum of the nodes, and "" if nobody was seen to.
func (n *Inspection) Holder() (digest, label string) {
	count := make(map[string]int)
	for _, s := range n.Nodes {
		if count[s.Holder]++; s.Holder != "" && count[s.Holder] >= n.Quorum {
			return s.Holder, s.Label
		}
	}
	return "", ""
}

// Inspect asks every node who has the key, and changes nothing. It waits for all that answer within the node timeout; what is
// not known of a node is in its Err. The error is ErrInvalid, ErrClosed, or that of ctx.
func (l *Locker) Inspect(ctx context.Context, key string) (*Inspection, error) {
	c, err := l.ready(ctx)
	if err != nil {
		return nil, err
	}
	wire, err := c.wireKey(key)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i := &inspecting{core: c, open: len(c.names), replies: make([]*node.Reply, len(c.names)), over: make(chan struct{})}
	now := c.clock.Now()
	c.votesDue.add(&i.due, now, i)
	defer c.votesDue.remove(&i.due)
	c.group.Inspect(wire, c.helper(counterTag, wire), c.helper(queueTag, wire), i, now, now+c.nodeTimeout)
	select {
	case <-i.over:
		return i.found(key), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.gate.shut:
		return nil, ErrClosed
	}
}

// inspecting is one Inspect.
type inspecting struct {
	core *core
	due  deadline

	mu      sync.Mutex // protects what follows
	open    int
	replies []*node.Reply
	over    chan struct{} // closed once all have answered, or the time is up
	ended   bool
}

// Heard records a node's answer; the lanes call it.
func (i *inspecting) Heard(n int, r *node.Reply, _ time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended {
		return // found is reading
	}
	i.replies[n] = r
	if i.open--; i.open == 0 {
		i.end()
	}
}

// endTime ends the waiting.
func (i *inspecting) endTime() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.end()
}

// end may be called again. The mutex is held.
func (i *inspecting) end() {
	if !i.ended {
		i.ended = true
		close(i.over)
	}
}

func (i *inspecting) found(key string) *Inspection {
	c := i.core
	out := &Inspection{Key: key, Quorum: quorum.Size(len(c.names)), Nodes: make([]NodeState, len(c.names))}
	owed := c.group.Debts()
	for n, r := range i.replies {
		s := &out.Nodes[n]
		s.Index, s.Name, s.Owed = n, c.names[n], owed[n]
		switch {
		case r == nil:
			s.Err = &NodeError{Index: n, Name: s.Name, Err: errNodeTimeout}
		case r.Confirmation != quorum.Confirmed:
			s.Err = &NodeError{Index: n, Name: s.Name, Err: clean(r.Err)}
		default:
			s.read(r.Holding)
		}
	}
	return out
}

func (s *NodeState) read(h node.Holding) {
	s.Fence, s.Waits = h.Fence, h.Waits
	if h.Token == "" {
		return
	}
	token, label, _ := strings.Cut(h.Token, " ")
	sum := sha256.Sum256([]byte(token))
	s.Holder, s.Label, s.TTL = hex.EncodeToString(sum[:4]), label, h.Life
}
