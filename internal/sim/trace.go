package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/internal/node"
	"github.com/quorumlock/go-redlock/redlock"
)

const column = 18

// trace is a schedule for people: one event a line, a column a node. The world's mutex protects it.
type trace struct {
	world *world
	text  strings.Builder
	names map[string]string // what tokens are called, in the order in which they come
}

func newTrace(w *world) *trace { return &trace{world: w, names: make(map[string]string)} }

func (t *trace) String() string { return t.text.String() }

// begin tells what was drawn for the whole schedule.
func (t *trace) begin() {
	w := t.world
	fmt.Fprintf(&t.text, "%d nodes, %d clients, ttl %v, node timeout %v, fenced %v, lost %d ‰, failing %d ‰, twice %d ‰\n",
		w.plan.nodes, w.plan.clients, w.plan.ttl, w.plan.timeout, w.plan.fenced, w.plan.lossy, w.plan.failing, w.plan.doubling)
	for _, n := range w.nodes {
		fmt.Fprintf(&t.text, "%s: clock %+v %+d ppm, hangs %v, is away %v\n", n.name(), n.skew, n.ppm, n.hung, n.down)
	}
	for _, c := range w.clients {
		fmt.Fprintf(&t.text, "%s: clock %+d ppm, pauses %v\n", c.name(), c.ppm, c.pauses)
		for i, l := range c.links {
			if len(l.out)+len(l.back) > 0 {
				fmt.Fprintf(&t.text, "%s: packets to n%d are dropped %v, from it %v\n", c.name(), i+1, l.out, l.back)
			}
		}
	}
	fmt.Fprintf(&t.text, "\n%12s  ", "ms")
	for _, n := range w.nodes {
		fmt.Fprintf(&t.text, "%-*s", column, n.name())
	}
	t.text.WriteString("clients\n")
}

// line is one event: of a node, in its column, or of a client, behind them all.
func (t *trace) line(at time.Duration, text string, n *master) {
	fmt.Fprintf(&t.text, "%12.6f  ", float64(at)/float64(time.Millisecond))
	for _, o := range t.world.nodes {
		if o == n {
			fmt.Fprintf(&t.text, "%-*s", column, text)
			break
		}
		fmt.Fprintf(&t.text, "%-*s", column, "")
	}
	if n == nil {
		t.text.WriteString(text)
	}
	t.text.WriteByte('\n')
}

// node tells of a command that a node ran.
func (t *trace) node(at time.Duration, n *master, who *client, args []any, a answer) {
	what := scriptOf(args)
	if what == "" {
		what = args[0].(string)
	}
	text := what
	for _, key := range keysOf(args) {
		if isLock(key.(string)) {
			text += " " + key.(string)
		}
	}
	if token := t.token(who, args); token != "" {
		text += " " + token
	}
	t.line(at, who.name()+" "+text+" "+t.said(a), n)
}

// token is what the first token is called that a command names.
func (t *trace) token(who *client, args []any) string {
	for _, a := range args[1:] {
		token, ok := a.(string)
		if ok && len(token) == len("ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			if t.names[token] == "" {
				t.names[token] = who.name() + "#" + strconv.Itoa(len(t.names)+1)
			}
			return t.names[token]
		}
	}
	return ""
}

// said is an answer, short.
func (t *trace) said(a answer) string {
	switch {
	case errors.Is(a.err, redis.Nil):
		return "no"
	case a.err != nil:
		word, _, _ := strings.Cut(a.err.Error(), " ")
		return word
	}
	if list, ok := a.val.([]any); ok {
		return fmt.Sprint(list[:min(len(list), 1)])
	}
	return fmt.Sprint(a.val)
}

// fate tells what befell a node.
func (t *trace) fate(at time.Duration, n *master, text string) {
	t.world.mu.Lock()
	defer t.world.mu.Unlock()
	t.line(at, "** "+text, n)
}

// brief is an error without the nodes' own.
func brief(err error) string {
	for _, class := range []error{
		redlock.ErrTaken, redlock.ErrTooSlow, redlock.ErrNoQuorum, redlock.ErrLost, redlock.ErrUnlocked, redlock.ErrClosed,
	} {
		if errors.Is(err, class) {
			return class.Error()
		}
	}
	return err.Error()
}

// scripts names the library's scripts by their hash and by their source.
var scripts = node.ScriptNames()

// scriptOf is which of the library's scripts a command runs, "" for what runs none.
func scriptOf(args []any) string {
	if args[0] != "evalsha" && args[0] != "eval" {
		return ""
	}
	return scripts[args[1].(string)]
}

// releases tells whether a command gives a token up.
func releases(args []any) bool {
	switch scriptOf(args) {
	case "release", "leave", "restore", "hand":
		return true
	}
	return false
}

// renews tells whether a command gives keys more life.
func renews(args []any) bool {
	what := scriptOf(args)
	return what == "extend" || what == "repair"
}

// grants tells whether a command would have a lock.
func grants(args []any) bool {
	switch scriptOf(args) {
	case "acquire", "again":
		return true
	}
	return args[0] == "set"
}
