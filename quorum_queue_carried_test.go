package quorum_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// carried is what the masters carried under a key, as it was seen again and again. It is for the time in which those who died, or
// stand still, have so many nodes that nobody else can have the lock, though nobody is inside. The zero value saw nothing.
type carried struct {
	seen []sighting
	end  context.CancelFunc
	over chan struct{}
}

// sighting is the token of each master at a time; "" is none.
type sighting struct {
	at     time.Time
	tokens []string
}

const (
	sightingPeriod = 5 * time.Millisecond
	// Who lives either has the lock by then or has given back.
	attemptsEnd = 200 * time.Millisecond
)

// carried begins to look at the key. All masters have to be up until it is closed.
func (tr *trial) carried(key string) *carried {
	ctx, end := context.WithCancel(tr.t.Context())
	c := &carried{end: end, over: make(chan struct{})}
	go func() {
		defer close(c.over)
		for ctx.Err() == nil {
			tokens := make([]string, len(tr.looks))
			var asked errgroup.Group
			for i, look := range tr.looks {
				asked.Go(func() (err error) {
					tokens[i], err = look.Get(ctx, tr.prefix+key).Result()
					return err
				})
			}
			if err := asked.Wait(); err != nil && err != redis.Nil && ctx.Err() == nil { //nolint:errorlint // the nil reply as it is
				tr.t.Errorf("look at %s: %v", key, err)
				return
			}
			c.seen = append(c.seen, sighting{time.Now(), tokens})
			time.Sleep(sightingPeriod)
		}
	}()
	return c
}

// close ends it; what was seen may be read after that.
func (c *carried) close() {
	if c.end != nil {
		c.end()
		<-c.over
	}
}

// within is for how long, in the course of that time, tokens that nobody gave back were on so many nodes that no majority was left. A
// token that was seen twice was there in between, since each attempt has its own.
func (c *carried) within(from, to time.Time) (all time.Duration) {
	for i := range c.seen[min(1, len(c.seen)):] {
		first, last := c.seen[i].at, c.seen[i+1].at
		if first.Before(from) {
			first = from
		}
		if last.After(to) {
			last = to
		}
		taken := 0
		for node := range c.seen[i].tokens {
			if c.stays(i, node) {
				taken++
			}
		}
		if n := len(c.seen[i].tokens); first.Before(last) && taken > n-quorum.Size(n) {
			all += last.Sub(first)
		}
	}
	return all
}

// stays tells whether the node's token of a sighting is still there in the next, and stays for longer than an attempt lasts.
func (c *carried) stays(at, node int) bool {
	token := c.seen[at].tokens[node]
	first, last := at, at
	for first > 0 && c.seen[first-1].tokens[node] == token {
		first--
	}
	for last < len(c.seen)-1 && c.seen[last+1].tokens[node] == token {
		last++
	}
	return token != "" && last > at && c.seen[last].at.Sub(c.seen[first].at) > attemptsEnd
}

// story tells when in that time each master carried another token, for who has to find out why nobody had the lock.
func (c *carried) story(from, to time.Time) string {
	var b strings.Builder
	last := []string{}
	for _, s := range c.seen {
		if s.at.After(from) && s.at.Before(to) && !slices.Equal(s.tokens, last) {
			fmt.Fprintf(&b, "%v: %.4q\n", s.at.Sub(from), s.tokens)
			last = s.tokens
		}
	}
	return b.String()
}
