package fence

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/guard.lua
var guardSource string

// Script is a Lua body that [Redis.Run] runs behind a guard. It may be used by several goroutines at once.
type Script struct {
	script *redis.Script
}

// NewScript makes a script of a Lua body, which sees the KEYS and ARGV of Run and may return what a script may. It is loaded
// to a server when that does not know it. A body is a program: write values into ARGV, never into its text.
func NewScript(body string) *Script {
	return &Script{redis.NewScript("local function body(KEYS, ARGV)\n" + body + "\nend\n" + guardSource)}
}

// admit is the script of Admit, which runs nothing.
var admit = NewScript("")

// Redis guards data on one Redis server, with the highest fence in a key beside them. It may be used by several goroutines
// at once. The key has no TTL and must have none, and must not be evicted: without it the guard starts anew. The value is the
// fence in decimal digits.
//
// This is the guard of a resource that happens to live on Redis. It is no part of the lock: the masters that hold the locks
// know their fences already.
type Redis struct {
	client redis.Scripter
	key    string
}

// NewRedis returns the guard that keeps its fence at key. The client stays the caller's to close. On a cluster the key and
// all keys of Run must share a hash tag.
func NewRedis(client redis.Scripter, key string) *Redis { return &Redis{client, key} }

// Admit admits fence or returns an error that matches ErrStale or ErrNoFence, or another that leaves the key as it was: it
// holds a value of another type or one that is no fence, the server takes no writes, ctx had ended. Where the answer was lost
// the fence may have been admitted; it is safe to ask again, as the client itself does by default. The deadline of ctx bounds
// the wait as far as the client heeds it: see ContextTimeoutEnabled in its options.
//
// A write after Admit is not protected against one who stops in between. [Redis.Run] does both in one step.
func (r *Redis) Admit(ctx context.Context, fence int64) error {
	_, err := r.Run(ctx, fence, admit, nil)
	return err
}

// Run runs a script where fence is admitted, in the same step: nobody with a higher fence can come in between. It returns
// what the body returned, nil for nothing. A refusal, and every error of Admit, means that the body did not run. The server
// has no rollback: where the body fails, what it wrote before stays, and the fence counts as seen.
//
// Where the answer was lost the body may have run, and the client itself sends a script again by default. Write a body that
// may run twice, or make the client with MaxRetries -1.
func (r *Redis) Run(ctx context.Context, fence int64, s *Script, keys []string, args ...any) (any, error) {
	if r.client == nil || r.key == "" {
		return nil, fmt.Errorf("%w: a guard needs a client and a key", ErrInvalid)
	}
	if s == nil || s.script == nil {
		return nil, fmt.Errorf("%w: no script", ErrInvalid)
	}
	if err := check(ctx, fence); err != nil {
		return nil, err
	}
	allKeys := append([]string{r.key}, keys...)
	allArgs := append([]any{strconv.FormatInt(fence, 10)}, args...)
	reply, err := s.script.Run(ctx, r.client, allKeys, allArgs...).Slice()
	if err != nil {
		return nil, fmt.Errorf("fence: %w", err)
	}
	return read(reply, fence)
}

// errReply is of a reply that the script cannot have given: a pipeline that was not executed yet, a proxy's invention. It
// says nothing about the fence, and must not be taken for "admitted".
var errReply = errors.New("fence: not the reply of the guard's script")

// read is the meaning of the script's reply. The body's nil, last in a Lua table, is not sent.
func read(reply []any, fence int64) (any, error) {
	switch {
	case len(reply) == 2 && reply[0] == "stale":
		digits, _ := reply[1].(string)
		highest, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, errors.New("fence: what the key of the guard holds is no fence")
		}
		return nil, &StaleError{Fence: fence, Highest: highest}
	case len(reply) == 1 && reply[0] == "admitted":
		return nil, nil
	case len(reply) >= 2 && reply[0] == "admitted":
		if err, failed := reply[1].(error); failed {
			return nil, fmt.Errorf("fence: %w", err)
		}
		return reply[1], nil
	default:
		return nil, errReply
	}
}
