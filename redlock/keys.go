package redlock

import (
	"slices"
	"strconv"
	"strings"
)

const (
	maxKeys    = 64
	counterTag = "~f:"
	queueTag   = "~q:"
	channelTag = "~w:"
)

const maxKey = 64 << 10

// keySet is the keys of one lock.
type keySet struct {
	wire []any  // as they go on the wire, sorted
	line string // under which callers for just these keys queue
}

// keySet is that of a key and more, or what is wrong with one of them.
func (c *core) keySet(key string, more []string) (keySet, error) {
	first, err := c.wireKey(key)
	if err != nil || len(more) == 0 {
		return keySet{wire: []any{first}, line: first}, err
	}
	all := []string{first}
	for _, key := range more {
		wire, err := c.wireKey(key)
		if err != nil {
			return keySet{}, err
		}
		all = append(all, wire)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > maxKeys {
		return keySet{}, invalid("%d keys are more than %d", len(all), maxKeys)
	}
	var set keySet
	for _, wire := range all {
		set.wire = append(set.wire, wire)
	}
	set.line = lineOf(set.wire)
	return set, nil
}

// lineOf is under which callers for just these keys queue.
func lineOf(wire []any) string {
	if len(wire) == 1 {
		return wire[0].(string)
	}
	var line strings.Builder
	for _, key := range wire {
		// The length keeps two sets apart whatever bytes are in the keys.
		line.WriteString("~q:" + strconv.Itoa(len(key.(string))) + ":" + key.(string))
	}
	return line.String()
}

// helper is a key that belongs to a lock's, both as they go on the wire.
func (c *core) helper(tag string, wire any) any {
	return c.prefix + tag + strings.TrimPrefix(wire.(string), c.prefix)
}

// wireKey is the key on the wire, or what is wrong with it.
func (c *core) wireKey(key string) (string, error) {
	if key == "" {
		return "", invalid("key is empty")
	}
	if n := len(c.prefix) + len(key); n > maxKey {
		return "", invalid("key of %d bytes with its prefix is longer than %d", n, maxKey)
	}
	if err := reserved("key", key); err != nil {
		return "", err
	}
	wire := c.prefix + key
	// The prefix may end where the key goes on.
	return wire, reserved("prefix and key", wire)
}

// reserved refuses the marks under which the library keeps what belongs to a lock but is none.
func reserved(what, s string) error {
	for _, mark := range [...]string{"~f:", "~q:", "~w:"} {
		if strings.Contains(s, mark) {
			return invalid("%s contains %q, which is reserved", what, mark)
		}
	}
	return nil
}
