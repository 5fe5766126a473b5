package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/internal/quorum"
)

// Locker takes locks on one set of nodes. It may be used by several goroutines at once; the zero Locker answers ErrInvalid.
// An idle Locker has no goroutine of its own.
type Locker struct {
	core  *core
	terms *terms
}

// core is what the Lockers made from one another by With share.
type core struct {
	nodeTimeout time.Duration
	drift       float64
	prefix      string
	clock       clock.Clock
	hooks       Hooks
	names       []string
	hashes      []uint64        // of the names, for the canary
	listeners   []node.Listener // nil: nobody is told when it may be worth asking
	id          any             // what this Locker is called in queues, a string
	ears        ears
	group       *node.Group
	votesDue    deadlines // of rounds: the node timeout
	answersDue  deadlines // of releases: twice that
	lines       lines
	gate        *gate
	held        heldLocks
	nodeTime    nodeTime
	vigil       vigil
	wheel       wheel
	debtors     []telling // by node; nil without the hook
	troubles    []telling // by node
	keepOnClose bool
	chance      func() uint64   // where the lengths of pauses come from
	owned       []*redis.Client // Open's own
}

// New returns a Locker over the clients, one for each independent master. It sends nothing; a node that cannot be reached
// now counts as a node all the same. The clients stay the caller's to close, after the Locker.
//
// It is ErrInvalid to give no client or more than 64, a nil one, the same client or the same address twice. (Clients of
// redis.NewFailoverClient all show one address and are told apart as clients.) Every client gets a dial hook that bounds how
// long sent bytes may stay unacknowledged (Linux).
func New(nodes []*redis.Client, opts ...Option) (*Locker, error) {
	s := defaults()
	if err := s.apply(opts); err != nil {
		return nil, err
	}
	if s.clientOptions != nil {
		return nil, invalid("client options are for Open: the clients given to New have theirs already")
	}
	return newLocker(nodes, s)
}

func newLocker(nodes []*redis.Client, s settings) (*Locker, error) {
	names, err := nameNodes(nodes)
	if err != nil {
		return nil, err
	}
	if err := s.checkNames(len(nodes)); err != nil {
		return nil, err
	}
	transports := make([]node.Transport, len(nodes))
	for i, n := range nodes {
		node.LimitUnacked(n)
		transports[i] = node.NewTransport(n.WithTimeout(s.nodeTimeout))
	}
	l := assemble(names, transports, s)
	for _, n := range nodes {
		l.core.listeners = append(l.core.listeners, node.NewListener(n, s.clock))
	}
	return l, nil
}

// canaryNames are the names that all clients must give the nodes alike.
func canaryNames(addresses, given []string) []string {
	if given != nil {
		return given
	}
	return addresses
}

// assemble is the end of every construction: what is below it knows transports and no clients.
func assemble(names []string, transports []node.Transport, s settings) *Locker {
	c := &core{
		nodeTimeout: s.nodeTimeout,
		drift:       s.drift,
		prefix:      s.prefix,
		clock:       s.clock,
		hooks:       s.hooks,
		names:       names,
		id:          newToken(),
		group:       node.NewGroup(transports, s.clock, s.nodeTimeout),
		votesDue:    deadlines{clock: s.clock, wait: s.nodeTimeout},
		answersDue:  deadlines{clock: s.clock, wait: 2 * s.nodeTimeout},
		gate:        newGate(),
		vigil:       vigil{clock: s.clock},
		wheel:       wheel{clock: s.clock},
		keepOnClose: s.keepOnClose,
		chance:      rand.Uint64,
		troubles:    make([]telling, len(names)),
	}
	for _, name := range canaryNames(names, s.nodeNames) {
		c.hashes = append(c.hashes, quorum.NameHash(name))
	}
	c.vigil.looked = c.wheel.look
	if s.hooks.Debts != nil {
		c.debtors = make([]telling, len(names))
		c.group.Owing = c.owing
	}
	return &Locker{core: c, terms: &s.terms}
}

const failoverAddr = "FailoverClient" // what every client of redis.NewFailoverClient shows as its address

func nameNodes(nodes []*redis.Client) ([]string, error) {
	if len(nodes) == 0 || len(nodes) > quorum.MaxNodes {
		return nil, invalid("%d nodes are not from 1 to %d", len(nodes), quorum.MaxNodes)
	}
	names := make([]string, len(nodes))
	clients := make(map[*redis.Client]int, len(nodes))
	addrs := make(map[string]int, len(nodes))
	for i, n := range nodes {
		if n == nil {
			return nil, invalid("node %d is nil", i)
		}
		if j, twice := clients[n]; twice {
			return nil, invalid("nodes %d and %d are the same client", j, i)
		}
		clients[n] = i
		names[i] = n.Options().Addr
		if names[i] == failoverAddr {
			continue
		}
		if j, twice := addrs[names[i]]; twice {
			return nil, invalid("nodes %d and %d have the same address %s", j, i, names[i])
		}
		addrs[names[i]] = i
	}
	return names, nil
}

// With returns a Locker on the same nodes and lanes with other defaults. A bad option shows itself at the first call. Close
// closes both.
func (l *Locker) With(opts ...LockOption) *Locker {
	if l == nil || l.core == nil {
		return l
	}
	t, err := l.terms.with(opts, l.core)
	if err != nil {
		t = &terms{bad: err}
	}
	return &Locker{core: l.core, terms: t}
}

// ready returns the core, or ErrInvalid, or ErrClosed.
func (l *Locker) ready(ctx context.Context) (*core, error) {
	switch {
	case l == nil || l.core == nil:
		return nil, invalid("the Locker was not made by New or Open")
	case ctx == nil:
		return nil, invalid("context is nil")
	}
	if l.core.gate.isShut() {
		return nil, ErrClosed
	}
	return l.core, nil
}

// Close ends every wait in Lock and every KeepAlive with ErrClosed, takes no new lock, and gives back every lock that is held
// (but for [WithoutReleaseOnClose]): on the nodes that answer at once, however many hang. Then it waits until what is owed to the
// nodes (keys that may be there still, or may yet come) is paid, at most until ctx ends or one TTL has passed, and closes the
// clients that Open made. It returns nil if everything is paid, ctx's cause if ctx ended first, and ErrClosed if a TTL passed and
// a node still did not answer; the rest is forgotten then and ends with its TTL. A second Close waits likewise. Where ctx has ended
// what is held is given back all the same, without knowing how that goes; Open's clients get one node timeout for it.
//
// Unlock works after Close too, while the clients live; of a lock that Close gave back it says how that went.
func (l *Locker) Close(ctx context.Context) error {
	switch {
	case l == nil || l.core == nil:
		return invalid("the Locker was not made by New or Open")
	case ctx == nil:
		return invalid("context is nil")
	}
	c := l.core
	c.gate.close()
	c.group.Shut()
	now := c.clock.Now()
	for _, k := range c.held.all() {
		k.shutDown(now)
	}
	c.ears.shutAll()
	err := c.group.Close(ctx)
	if errors.Is(err, node.ErrClosed) {
		err = fmt.Errorf("%w: a node that does not answer may keep keys until their TTL", ErrClosed)
	}
	if len(c.owned) > 0 {
		c.group.Linger(c.nodeTimeout) // what was given back leaves before its client does, also where ctx had ended
	}
	for _, client := range c.owned {
		_ = client.Close() // it may be closed already, by an earlier Close
	}
	return err
}

// String names the nodes.
func (l *Locker) String() string {
	if l == nil || l.core == nil {
		return "redlock.Locker{}"
	}
	return "redlock.Locker{nodes: " + strconv.Itoa(len(l.core.names)) + ", prefix: " + strconv.Quote(l.core.prefix) + "}"
}

// Format prints String for every verb, so that no client and no password behind it is ever printed.
func (l *Locker) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(l.String())) }
