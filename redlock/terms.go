package redlock

import (
	"fmt"
	"math"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

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

// checkNames checks the names for n nodes.
func (s *settings) checkNames(n int) error {
	if s.nodeNames == nil {
		return nil
	}
	if len(s.nodeNames) != n {
		return invalid("%d node names are not as many as %d nodes", len(s.nodeNames), n)
	}
	seen := make(map[string]int, n)
	for i, name := range s.nodeNames {
		j, twice := seen[name]
		switch {
		case name == "":
			return invalid("name of node %d is empty", i)
		case twice:
			return invalid("nodes %d and %d have the same name %q", j, i, name)
		}
		seen[name] = i
	}
	return nil
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
	case t.maxHold != 0 && t.maxHold < t.ttl:
		return invalid("max hold %v is below the ttl %v", t.maxHold, t.ttl)
	case len(t.label) > maxLabel:
		return invalid("label of %d bytes is longer than %d", len(t.label), maxLabel)
	case t.fenced && t.retention < t.ttl:
		return invalid("fence retention %v is below the ttl %v", t.retention, t.ttl)
	case t.retention > quorum.MaxTTL:
		return invalid("fence retention %v is above %v", t.retention, quorum.MaxTTL)
	}
	t.ttlMillis = t.ttl.Milliseconds()
	t.drift = quorum.Drift(t.ttl, drift)
	if validity := quorum.Validity(t.ttl, 0, t.drift); nodeTimeout >= validity {
		return invalid("node timeout %v does not fit into ttl %v less drift %v", nodeTimeout, t.ttl, t.drift)
	}
	return nil
}

const maxLabel = 256

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

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// value is what the keys carry: the token and, behind a space, the label.
func (t *terms) value(token string) string {
	if t.label == "" {
		return token
	}
	return token + " " + t.label
}
