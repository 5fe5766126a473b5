package node

import (
	"math/rand/v2"
	"sync"
	"time"
)

// chaos is a node on bad terms with its network until it is healed. Each is bad in one of two ways, since the two together
// would leave a key behind that nobody can be blamed for: bytes that arrive late, or releases that are answered by errors.
type chaos struct {
	late bool

	mu     sync.Mutex // protects what follows
	dice   *rand.Rand
	store  *store
	healed bool
}

func (c *chaos) heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.healed = true
}

func (c *chaos) Exec(batch []*Command) error {
	before, after, err := c.exec(batch)
	time.Sleep(before)
	c.mu.Lock()
	err2 := err()
	c.mu.Unlock()
	time.Sleep(after)
	return err2
}

// exec draws the batch's fate: two delays, and what happens between them.
func (c *chaos) exec(batch []*Command) (before, after time.Duration, happens func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole := func() error { return c.answer(batch, len(batch), len(batch), len(batch)) }
	if c.healed {
		return 0, 0, whole
	}
	before, after = c.delay(), c.delay()
	switch c.dice.IntN(10) {
	case 0: // nothing can be sent
		return before, after, func() error { return errRefusedDial }
	case 1, 2, 3: // it breaks somewhere
		sent := c.dice.IntN(len(batch) + 1)
		ran := c.dice.IntN(sent + 1)
		heard := c.dice.IntN(ran + 1)
		return before, after, func() error { return c.answer(batch, sent, ran, heard) }
	case 4: // a restart, or a flush
		return before, after, func() error { c.store.known = nil; return whole() }
	default:
		return before, after, whole
	}
}

// delay is mostly none, sometimes a little, and seldom longer than the node timeout.
func (c *chaos) delay() time.Duration {
	switch c.dice.IntN(12) {
	case 0:
		return time.Duration(c.dice.Int64N(int64(2 * nodeTimeout)))
	case 1, 2:
		return time.Duration(c.dice.Int64N(int64(5 * ms)))
	default:
		return 0
	}
}

// answer lets so many of the commands be sent, run, and heard of.
func (c *chaos) answer(batch []*Command, sent, ran, heard int) error {
	for i, cmd := range batch[:sent] {
		args := cmd.Args()
		switch {
		case i >= ran:
			if c.late && c.dice.IntN(2) == 0 {
				c.runLater(args)
			}
		case !c.healed && c.dice.IntN(20) == 0 && (!c.late || sets(args)):
			if i < heard {
				readOnly(cmd)
			}
		default:
			if answer := c.store.run(args); i < heard {
				answer(cmd)
			}
		}
	}
	if heard < len(batch) {
		return errReset
	}
	return nil
}

// runLater runs a command that was on its way when the connection broke, well within one TTL.
func (c *chaos) runLater(args []any) {
	time.AfterFunc(time.Duration(c.dice.Int64N(int64(hammerTTL*3/4))), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.store.run(args)
	})
}

// left are the tokens that live on the node.
func (c *chaos) left() (tokens []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.store.keys {
		if token := c.store.holder(key); token != "" {
			tokens = append(tokens, token)
		}
	}
	return tokens
}
