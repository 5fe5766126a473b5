package redlock

import (
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/clock"
)

// Option is a setting of a whole [Locker], for [New] and [Open]. Every [LockOption] is one too, and sets a default there.
type Option interface {
	applyLocker(s *settings)
}

// LockOption is a setting of single locks: a default in [New], [Open] and [Locker.With], or for one call. An Option that is
// no LockOption cannot be passed to one call; the compiler says so.
type LockOption interface {
	Option
	applyLock(t *terms)
}

type lockerOption func(*settings)

func (f lockerOption) applyLocker(s *settings) { f(s) }

type lockOption func(*terms)

func (f lockOption) applyLocker(s *settings) { f(&s.terms) }
func (f lockOption) applyLock(t *terms)      { f(t) }

// settings are what New and Open were told.
type settings struct {
	terms         terms
	nodeTimeout   time.Duration
	drift         float64
	prefix        string
	clock         clock.Clock
	hooks         Hooks
	keepOnClose   bool
	nodeNames     []string
	clientOptions []func(*redis.Options)
}

// terms are what one lock is taken on.
type terms struct {
	ttl         time.Duration
	ttlMillis   any // the ttl as it goes on the wire, boxed once
	drift       time.Duration
	backoffMin  time.Duration
	backoffMax  time.Duration
	maxAttempts int
	maxHold     time.Duration // 0: no bound
	more        []string      // keys beside the one of the call
	label       string
	fenced      bool
	retention   time.Duration
	bad         error // what With was told wrong
}

func defaults() settings {
	return settings{
		terms: terms{
			ttl:        10 * time.Second,
			backoffMin: 50 * time.Millisecond,
			backoffMax: 100 * time.Millisecond,
			retention:  7 * 24 * time.Hour,
		},
		nodeTimeout: 200 * time.Millisecond,
		drift:       0.01,
		clock:       clock.System(),
	}
}

// WithTTL sets how long a lock lives on the nodes from the moment it was asked for. It is cut to whole milliseconds; at
// least 1 ms and at most ten years, and more than the node timeout and the drift together. The default is 10 s.
func WithTTL(d time.Duration) LockOption {
	return lockOption(func(t *terms) { t.ttl = d.Truncate(time.Millisecond) })
}

// WithBackoff sets the bounds of the random pause after which a [Locker.Lock] that waits asks again, though nobody told it that the key
// is free. max should be well above min, so that clients part by it. Where many processes wait it is longer: so long that all of them
// together ask a hundred times a second. It never outlasts the life of who has the lock. The default is 50 ms and 100 ms.
func WithBackoff(min, max time.Duration) LockOption {
	return lockOption(func(t *terms) { t.backoffMin, t.backoffMax = min, max })
}

// WithMaxAttempts lets [Locker.Lock] give up after n attempts. The default, 0, is no bound: it waits until its context ends.
func WithMaxAttempts(n int) LockOption {
	return lockOption(func(t *terms) { t.maxAttempts = n })
}

// WithKeys makes the lock one of several keys, which are had all or not at all, on each node in one step. They are sorted, and
// a key that is named twice counts once; at most 64 with the call's own. Clients that lock overlapping sets in any order
// cannot deadlock each other. Where the nodes' rights are by key, a client needs those for all.
func WithKeys(more ...string) LockOption {
	more = slices.Clone(more)
	return lockOption(func(t *terms) { t.more = more })
}

// WithFencing gives every lock a number, [Lock.Fence], that is larger than that of every holder before: the resource can reject
// who comes too late (package fence). Every holder of the key must use it. It keeps a counter beside each key, under the prefix,
// "~f:" and the key.
func WithFencing() LockOption {
	return lockOption(func(t *terms) { t.fenced = true })
}

// WithFenceRetention sets for how long a counter outlives the last acquisition or Extend of its key. While it is kept, fences rise
// by the counters alone; after it, by the clocks. Cut to whole milliseconds, at least the TTL. The default is seven days.
func WithFenceRetention(d time.Duration) LockOption {
	return lockOption(func(t *terms) { t.retention = d.Truncate(time.Millisecond) })
}

// WithMaxHold ends the lock d after it was asked for, whatever is renewed: a holder that hangs does not keep it for ever. It must
// not be below the TTL. The default, 0, is no bound.
func WithMaxHold(d time.Duration) LockOption {
	return lockOption(func(t *terms) { t.maxHold = d })
}

// WithLabel says who holds the lock, for [Locker.Inspect]; at most 256 bytes. It stands on the nodes beside the token, so it is no
// place for a secret, and peers that share the keys take it for a part of the token.
func WithLabel(s string) LockOption {
	return lockOption(func(t *terms) { t.label = s })
}

// WithoutReleaseOnClose lets [Locker.Close] leave the locks that are held alone. By default it gives them back.
func WithoutReleaseOnClose() Option {
	return lockerOption(func(s *settings) { s.keepOnClose = true })
}

// WithNodeTimeout sets how long one node is waited for, whatever the timeouts of the clients are. It bounds every call (see
// "Bounded time" in the package's documentation), and it must fit into the TTL. The default is 200 ms.
func WithNodeTimeout(d time.Duration) Option {
	return lockerOption(func(s *settings) { s.nodeTimeout = d })
}

// WithDrift sets by how much the clocks of this process and of the nodes may differ in rate: 0.01, the default, is one
// percent. It costs that part of every TTL. 0.16 covers two clocks that a common NTP daemon slews apart as fast as it may.
func WithDrift(rate float64) Option {
	return lockerOption(func(s *settings) { s.drift = rate })
}

// WithPrefix puts p in front of every key on the wire. The default is "".
func WithPrefix(p string) Option {
	return lockerOption(func(s *settings) { s.prefix = p })
}

// WithNodeNames sets what the nodes are called, in their order, in place of their addresses: clients that wait for one another must
// call them the same, or they only ask now and then. Needed where addresses differ between clients, or not between nodes.
func WithNodeNames(names ...string) Option {
	names = append([]string{}, names...) // not nil, as where the option is not given
	return lockerOption(func(s *settings) { s.nodeNames = names })
}

// WithClock sets the clock; see package clock for what a lock needs of one. The default is [clock.System].
func WithClock(c clock.Clock) Option {
	return lockerOption(func(s *settings) { s.clock = c })
}

// WithHooks sets functions that are told what happens.
func WithHooks(h Hooks) Option {
	return lockerOption(func(s *settings) { s.hooks = h })
}

// WithClientOptions lets f change the options of every client that [Open] makes, after Open has set what a lock needs.
// [New] refuses it: there the clients are the caller's.
func WithClientOptions(f func(*redis.Options)) Option {
	return lockerOption(func(s *settings) { s.clientOptions = append(s.clientOptions, f) })
}
