package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Transport carries batches to one node. The lane makes one call at a time.
type Transport interface {
	// Exec puts the commands on the wire in their order, on one connection, each at most once, and returns when every one
	// of them is answered or never will be. Each command enters with [Command.Answered] false. The transport asks for
	// Args when, and only when, bytes of the command may leave; it records the answer with SetVal and SetErr. What it
	// returns is the cause for the commands it left without an answer; redis.ErrClosed means that nothing can be sent ever
	// again. It must not panic.
	Exec(batch []*Command) error
}

// errUnanswered is in every command from the start. A real answer clears it, so a command that still has it was not
// answered: a greeting that is refused leaves the commands of a pipeline with no error of their own and a zero value.
var errUnanswered = errors.New("no answer")

// Command is one command of a batch. It is a redis.Cmder that is never sent twice, that notes whether its bytes may have
// left, and that shows its arguments to nobody but the wire.
type Command struct {
	redis.Cmd
	args  []any
	asked bool
}

func (c *Command) reset(args []any) {
	c.args, c.asked = args, false
	c.SetVal(nil)
	c.SetErr(errUnanswered)
}

// Args returns what goes on the wire, and notes that it may have gone: the client asks for it while it serialises.
func (c *Command) Args() []any {
	c.asked = true
	return c.args
}

// NoRetry keeps the client from sending the command again: a SET NX that is re-sent meets its own key and reads "taken",
// and a release that is re-sent reads "not ours".
func (c *Command) NoRetry() bool { return true }

// Name returns the command's name, for the client's hooks.
func (c *Command) Name() string {
	if len(c.args) == 0 {
		return ""
	}
	name, _ := c.args[0].(string)
	return name
}

// FullName returns the command's name, for the client's hooks.
func (c *Command) FullName() string { return c.Name() }

// String returns the command's name without its arguments, which hold a token.
func (c *Command) String() string { return c.Name() }

// Answered tells whether the node answered this command, with a value or with an error of its own.
func (c *Command) Answered() bool {
	if !c.asked {
		return false // cannot be an answer: nothing was asked
	}
	err := c.Err()
	return err == nil || serverError(err)
}

// serverError tells whether err is itself a reply of the server. One that wraps a reply is not: the client wraps the
// refusal of a connection's greeting and stamps it on commands that were never answered.
func serverError(err error) bool {
	_, ok := err.(redis.Error) //nolint:errorlint // what wraps a server's reply is not the answer to this command
	return ok
}

// pipeline is the Transport over go-redis. Only the lane uses it, so it keeps its buffers.
type pipeline struct {
	pipe redis.Pipeliner
	cmds []redis.Cmder
}

// NewTransport returns the Transport over a client, which should be a clone made by WithTimeout, with the node timeout: such
// a clone has none of the user's hooks, which might ask for arguments without sending them.
func NewTransport(client *redis.Client) Transport {
	return &pipeline{pipe: client.Pipeline()}
}

// Exec sends the batch as one pipeline.
func (p *pipeline) Exec(batch []*Command) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("client panicked on a reply: %v", v)
			for _, c := range batch {
				c.SetErr(err) // what was read before the malformed reply came over the same broken stream
			}
		}
	}()
	p.cmds = p.cmds[:0]
	for _, c := range batch {
		p.cmds = append(p.cmds, c)
	}
	// The callers' contexts cannot serve here: the batch has many callers. The client's own timeouts bound it.
	ctx := context.Background() //nolint:forbidigo // it has a bound, as said above

	_ = p.pipe.BatchProcess(ctx, p.cmds...) // cannot fail: it appends
	clear(p.cmds)
	_, err = p.pipe.Exec(ctx)
	return err
}
