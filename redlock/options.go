package redlock

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/internal/quorum"
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
	bad         error // what With was told wrong
}

func defaults() settings {
	return settings{
		terms: terms{
			ttl:        10 * time.Second,
			backoffMin: 50 * time.Millisecond,
			backoffMax: 100 * time.Millisecond,
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

// WithBackoff sets the bounds of the random pause between two attempts of [Locker.Lock]. Two clients that split the nodes
// between them part by it, so max should be well above min. The default is 50 ms and 100 ms.
func WithBackoff(min, max time.Duration) LockOption {
	return lockOption(func(t *terms) { t.backoffMin, t.backoffMax = min, max })
}

// WithMaxAttempts lets [Locker.Lock] give up after n attempts. The default, 0, is no bound: it waits until its context ends.
func WithMaxAttempts(n int) LockOption {
	return lockOption(func(t *terms) { t.maxAttempts = n })
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

func (s *settings) apply(opts []Option) error {
	for i, o := range opts {
		if o == nil {
			return invalid("option %d is nil", i)
		}
		o.applyLocker(s)
	}
	return s.validate()
}

func (s *settings) validate() error {
	switch {
	case s.nodeTimeout <= 0:
		return invalid("node timeout %v is not above zero", s.nodeTimeout)
	case math.IsNaN(s.drift) || s.drift < 0 || s.drift >= 1:
		return invalid("drift %v is not from 0 to below 1", s.drift)
	case s.clock == nil:
		return invalid("clock is nil")
	}
	if err := reserved("prefix", s.prefix); err != nil {
		return err
	}
	for _, f := range s.clientOptions {
		if f == nil {
			return invalid("client options function is nil")
		}
	}
	return s.terms.seal(s.nodeTimeout, s.drift)
}

// seal checks the terms and works out what follows from them.
func (t *terms) seal(nodeTimeout time.Duration, drift float64) error {
	switch {
	case t.ttl < quorum.MinTTL:
		return invalid("ttl %v is below %v", t.ttl, quorum.MinTTL)
	case t.ttl > quorum.MaxTTL:
		return invalid("ttl %v is above %v", t.ttl, quorum.MaxTTL)
	case t.backoffMin <= 0:
		return invalid("backoff minimum %v is not above zero", t.backoffMin)
	case t.backoffMax < t.backoffMin:
		return invalid("backoff maximum %v is below its minimum %v", t.backoffMax, t.backoffMin)
	case t.maxAttempts < 0:
		return invalid("max attempts %d is negative", t.maxAttempts)
	}
	t.ttlMillis = t.ttl.Milliseconds()
	t.drift = quorum.Drift(t.ttl, drift)
	if validity := quorum.Validity(t.ttl, 0, t.drift); nodeTimeout >= validity {
		return invalid("node timeout %v does not fit into ttl %v less drift %v", nodeTimeout, t.ttl, t.drift)
	}
	return nil
}

// with returns the terms changed by the options, or t itself where there are none.
func (t *terms) with(opts []LockOption, c *core) (*terms, error) {
	if len(opts) == 0 || t.bad != nil {
		return t, t.bad
	}
	changed := *t
	for i, o := range opts {
		if o == nil {
			return nil, invalid("option %d is nil", i)
		}
		o.applyLock(&changed)
	}
	if err := changed.seal(c.nodeTimeout, c.drift); err != nil {
		return nil, err
	}
	return &changed, nil
}

const maxKey = 64 << 10

// wireKey is the key on the wire, or what is wrong with it.
func (c *core) wireKey(key string) (string, error) {
	if key == "" {
		return "", invalid("key is empty")
	}
	if n := len(c.prefix) + len(key); n > maxKey {
		return "", invalid("key of %d bytes with its prefix is longer than %d", n, maxKey)
	}
	if err := reserved("key", key); err != nil {
		return "", err
	}
	wire := c.prefix + key
	// The prefix may end where the key goes on.
	return wire, reserved("prefix and key", wire)
}

// reserved refuses the marks under which the library keeps what belongs to a lock but is none.
func reserved(what, s string) error {
	for _, mark := range [...]string{"~f:", "~q:", "~w:"} {
		if strings.Contains(s, mark) {
			return invalid("%s contains %q, which is reserved", what, mark)
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}
