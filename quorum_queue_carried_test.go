package quorum_test

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// carried is what a majority of the masters carried under a key, as it was seen again and again. It is for the time in which
// somebody who died, or stands still, has the lock: nobody else can have it then, though nobody is inside. The zero value saw nothing.
type carried struct {
	seen []sighting
	end  context.CancelFunc
	over chan struct{}
}

// sighting is the token that a majority carried at a time; "" is none.
type sighting struct {
	at    time.Time
	token string
}

const sightingPeriod = 5 * time.Millisecond

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
			c.seen = append(c.seen, sighting{time.Now(), byMajority(tokens)})
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

// byMajority is the token that so many of the masters carry that nobody else can have the lock.
func byMajority(tokens []string) string {
	count := make(map[string]int)
	for _, token := range tokens {
		if count[token]++; token != "" && count[token] >= quorum.Size(len(tokens)) {
			return token
		}
	}
	return ""
}

// within is for how long a majority carried somebody's token in the course of that time. A token that was seen twice was there
// in between, since each attempt has its own.
func (c *carried) within(from, to time.Time) (all time.Duration) {
	for i, s := range c.seen[min(1, len(c.seen)):] {
		if before := c.seen[i]; s.token != "" && s.token == before.token {
			first, last := before.at, s.at
			if first.Before(from) {
				first = from
			}
			if last.After(to) {
				last = to
			}
			all += max(last.Sub(first), 0)
		}
	}
	return all
}
