package contention

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// sent is what clients send while they lock, wait and release. INFO counts what
// scripts call, too, under the same names: SET and LREM are in both parts, so that
// the few of them that a script calls are counted as sent. What only scripts call is
// not counted, nor is our own asking.
var sent = []string{"set", "eval", "evalsha", "lrem", "subscribe", "unsubscribe", "ping", "hello", "auth", "select", "client"}

// counter asks the nodes how much they have been sent.
type counter struct{ clients []*redis.Client }

func newCounter(addrs []string) *counter {
	c := &counter{}
	for _, addr := range addrs {
		c.clients = append(c.clients, redis.NewClient(&redis.Options{Addr: addr}))
	}
	return c
}

// read asks all nodes at the same time, so that it is one instant for all.
func (c *counter) read(ctx context.Context) (int64, error) {
	calls := make([]int64, len(c.clients))
	errs := make([]error, len(c.clients))
	var asking sync.WaitGroup
	for i, client := range c.clients {
		asking.Go(func() {
			info, err := client.Info(ctx, "commandstats").Result()
			if err == nil {
				calls[i], err = callsOf(info)
			}
			errs[i] = err
		})
	}
	asking.Wait()
	var all int64
	for i, n := range calls {
		if errs[i] != nil {
			return 0, fmt.Errorf("contention: node %d: %w", i, errs[i])
		}
		all += n
	}
	return all, nil
}

func (c *counter) close() {
	for _, client := range c.clients {
		_ = client.Close() // read already; a connection that was lost is no news
	}
}

// callsOf sums the calls of the commands that clients send.
func callsOf(info string) (int64, error) {
	var all int64
	for line := range strings.Lines(info) {
		entry, ok := strings.CutPrefix(line, "cmdstat_")
		if !ok {
			continue
		}
		name, stats, _ := strings.Cut(entry, ":")
		command, _, _ := strings.Cut(name, "|") // a subcommand has a line of its own
		if !slices.Contains(sent, command) {
			continue
		}
		calls, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
		n, err := strconv.ParseInt(calls, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("contention: commandstats line %q: %w", line, err)
		}
		all += n
	}
	return all, nil
}
