package node

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// reply is what becomes of one command on a fake node.
type reply func(*Command)

// replyError is an error reply.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

func value(v any) reply {
	return func(c *Command) {
		c.Args()
		c.SetErr(nil)
		c.SetVal(v)
	}
}

func failed(err error) reply {
	return func(c *Command) {
		c.Args()
		c.SetErr(err)
	}
}

var (
	granted  = value("OK")
	pong     = value("PONG")
	deleted  = value(int64(1))
	absent   = value(int64(0))
	foreign  = value(int64(-1))
	refused  = failed(redis.Nil)
	noScript = failed(redis.ErrNoScript)
	readOnly = failed(errReadOnly)
	silent   = reply(func(c *Command) { c.Args() }) // its bytes left and nothing came back
	notAsked = reply(func(*Command) {})
)

// held is a Transport that hands every batch to the test, which says what becomes of it and when. Once the test is over
// nothing is held any more.
type held struct {
	batches chan *batch
	over    chan struct{}
}

type batch struct {
	cmds []*Command
	back chan error
}

func (h *held) Exec(cmds []*Command) error {
	b := &batch{cmds: cmds, back: make(chan error, 1)}
	select {
	case h.batches <- b:
	case <-h.over:
		return nil
	}
	select {
	case err := <-b.back:
		return err
	case <-h.over:
		return nil
	}
}

// words are the batch's commands: "set key token", "ping", and those of scripts by their names: "release a,b token"; "eval a,b
// token" where the source goes along. Of some the argument that tells most comes behind: the rest in milliseconds of leave, the
// token before of restore, resume, and the release of what was resumed, the fence of raise and repair. Of a queue's scripts all do,
// and of the release that names who comes next the queues.
func (b *batch) words() []string {
	out := make([]string, 0, len(b.cmds))
	for _, c := range b.cmds {
		out = append(out, words(c))
	}
	return out
}

// scriptWords are the name of each script and the place of the argument that tells most, or 0.
var scriptWords = map[any]struct {
	name string
	tell int
}{
	acquireScript.hash: {"acquire", 0}, resumeScript.hash: {"resume", 5}, raiseScript.hash: {"raise", 1},
	extendScript.hash: {"extend", 0}, repairScript.hash: {"repair", 2}, releaseScript.hash: {"release", 1},
	leaveScript.hash: {"leave", 1}, restoreScript.hash: {"restore", 1}, inspectScript.hash: {"inspect", 0},
	againScript.hash: {"again", 0}, handScript.hash: {"hand", 3}, queueScript.hash: {"queue", all}, quitScript.hash: {"quit", all},
}

const all = -1 // arguments tell most

func words(c *Command) string {
	switch c.args[0] {
	case "set":
		return fmt.Sprint("set ", c.args[1], " ", c.args[2])
	case "evalsha", "eval":
		count := c.args[2].(int)
		var keys []string
		for _, k := range c.args[3 : 3+count] {
			keys = append(keys, k.(string))
		}
		argv := c.args[3+count:]
		script := scriptWords[c.args[1]] // of a source there is none
		if c.args[0] == "eval" {
			script.name = "eval"
		}
		told := argv[:1:1]
		switch {
		case script.tell == all:
			told = argv
		case script.name == "hand":
			told = append(told, argv[script.tell:]...)
		case 0 < script.tell && script.tell < len(argv):
			told = append(told, argv[script.tell])
		}
		return script.name + " " + strings.Join(keys, ",") + " " + spaced(told)
	case "lrem":
		return spaced(c.args)
	default:
		return c.Name()
	}
}

func spaced(args []any) string {
	return strings.TrimSuffix(fmt.Sprintln(args...), "\n")
}

// end brings the batch back: the commands get their replies in turn, the last reply is for all that are left, and err is the
// cause for those without an answer.
func (b *batch) end(err error, replies ...reply) {
	for i, c := range b.cmds {
		replies[min(i, len(replies)-1)](c)
	}
	b.back <- err
}

// each is a Transport that gives every command the reply that the function finds for it, at once.
type each func(*Command) reply

func (f each) Exec(cmds []*Command) error {
	for _, c := range cmds {
		f(c)(c)
	}
	return nil
}

// healthy is a node that grants everything.
var healthy = each(func(c *Command) reply {
	switch c.Name() {
	case "set":
		return granted
	case "ping":
		return pong
	}
	return deleted
})

const errReadOnly = replyError("READONLY You can't write against a read only replica.")

// What a transport says of commands that it could not bring across.
var (
	errRefusedDial = errors.New("dial tcp: connection refused")
	errReset       = errors.New("read tcp: connection reset by peer")
	errTimeout     = errors.New("read tcp: i/o timeout")
)
