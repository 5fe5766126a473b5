package redlock

import (
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/quorumlock/go-redlock/internal/node"
)

// Open returns a Locker with clients of its own, one for each URL (redis://user:password@host:port/db, rediss:// for TLS,
// unix://path), with the settings a lock needs: no retries, timeouts of the node timeout, and connections that forget what
// they have not sent when they are closed. It sends nothing. [Locker.Close] closes the clients.
//
// It is ErrInvalid to give no URL or more than 64, the same address twice, or a URL that cannot be parsed; the error names
// the part that is wrong and never the password.
func Open(urls []string, opts ...Option) (*Locker, error) {
	s := defaults()
	if err := s.apply(opts); err != nil {
		return nil, err
	}
	clients := make([]*redis.Client, 0, len(urls))
	l, err := open(&clients, urls, s)
	if err != nil {
		for _, c := range clients {
			_ = c.Close() // nothing was sent on it
		}
		return nil, err
	}
	l.core.owned = clients
	return l, nil
}

func open(clients *[]*redis.Client, urls []string, s settings) (*Locker, error) {
	for i, u := range urls {
		o, wrong := parseURL(u)
		if wrong != "" {
			return nil, invalid("url %d: %s", i, wrong)
		}
		suit(o, s.nodeTimeout)
		for _, f := range s.clientOptions {
			f(o)
		}
		c := redis.NewClient(o)
		node.DiscardOnClose(c)
		*clients = append(*clients, c)
	}
	return newLocker(*clients, s)
}

// suit gives a client the settings of a lock. What is negative is so because the client takes 0 for its own default.
func suit(o *redis.Options, timeout time.Duration) {
	o.MaxRetries = -1
	o.Protocol = 2 // nothing is pushed to us, so no reply need be looked at for that first
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.DialerRetries = 1
	// A lane has one pipeline under way; the others are for what a hung connection has not given back yet. No idle ones are
	// kept ready: they would be dialled here, and in the pool that the lanes do not use.
	o.PoolSize, o.PipelinePoolSize = poolSize, poolSize
	o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = 0, 0, 0
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

const poolSize = 4

// What may be wrong with a URL. The parsers' own errors quote what they met, and that may be the password, or what is left of
// one that was cut in two.
const (
	badURL    = "cannot be parsed; its user, password or host may hold a character that must be percent-encoded"
	badScheme = "scheme is not redis://, rediss:// or unix://"
	badBehind = "holds # or @ behind its host; in a user or password these, / and ? must be percent-encoded"
	badOption = "an option after the question mark is unknown or has a bad value"
	badPath   = "path is not a database number"
	badSocket = "a unix URL is a path, with a user and password and @ before it at most, and no host"
)

// parseURL returns the options, or what is wrong.
func parseURL(raw string) (o *redis.Options, wrong string) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, badURL
	}
	_, rest, _ := strings.Cut(raw, "//")
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix", u.Opaque != "":
		return nil, badScheme
	case misplaced(rest):
		return nil, badBehind
	case u.Scheme == "unix" && (u.Host != "" || u.Path == ""):
		return nil, badSocket
	}
	if o, err = redis.ParseURL(raw); err == nil {
		return o, ""
	}
	u.RawQuery = ""
	if _, err := redis.ParseURL(u.String()); err == nil {
		return nil, badOption
	}
	return nil, badPath
}

// misplaced tells whether there is an @ or # behind the host, which a password has brought there: the part of it that is
// before its first / or ? or # would pass for a host and a port, and be named as such.
func misplaced(rest string) bool {
	i := strings.IndexAny(rest, "/?#")
	return i >= 0 && strings.ContainsAny(rest[i:], "@#")
}
