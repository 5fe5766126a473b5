package store

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Store is the keys and the scripts of one server. It may be used by several goroutines at once; New makes one.
type Store struct {
	mu      sync.Mutex // protects what follows; held while a command or a script runs
	keys    map[string]entry
	scripts map[string]*script // by hash
	offset  time.Duration
	now     time.Time // by the node's clock, of the command that runs

	channels map[string][]*subscriber
}

// entry is a key.
type entry struct {
	value string
	list  bool // it is a list: items, and no value
	items []string
	end   time.Time // by the node's clock; the zero time: none
}

// Error is an error that a server replies with. Clients mark theirs in the same way.
type Error string

// Error returns the reply, without the sign in front of it.
func (e Error) Error() string { return string(e) }

// RedisError marks it as a reply of a server.
func (Error) RedisError() {}

const (
	errWrongType = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
	errNumber    = Error("ERR value is not an integer or out of range")
	errSyntax    = Error("ERR syntax error")
	errNoScript  = Error("NOSCRIPT No matching script. Please use EVAL.")
)

// New returns an empty store, whose clock shows the time that it is given.
func New() *Store {
	return &Store{
		keys: make(map[string]entry), scripts: make(map[string]*script), channels: make(map[string][]*subscriber),
	}
}

// Do runs a command at a time that must not be before that of the one before, and returns its reply: a string, an int64, a list of
// replies as []any, or nil for the nil reply. The error is an [Error], what the command did before it stays done. The arguments
// are strings, byte strings or whole numbers, and anything else is a mistake of the caller's, which panics.
//
// The commands are SET with NX, XX, PX, EX and KEEPTTL, GET, DEL, EXISTS, PTTL, PEXPIRE without options, LPUSH, RPUSH, LPOP without
// a count, LREM, LRANGE, LLEN, PUBLISH (who hears of it: [Store.Subscribe]), TIME, PING, EVAL and EVALSHA. A script that concatenates (with two dots) is refused: what a server makes of a large number then cannot be had here.
func (s *Store) Do(now time.Time, args []any) (any, error) {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = text(a)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now.Add(s.offset)
	switch name := strings.ToLower(first(texts)); name {
	case "eval":
		return s.eval(texts)
	case "evalsha":
		return s.evalsha(texts)
	default:
		return s.run(name, texts)
	}
}

// text is an argument as a client puts it on the wire.
func text(a any) string {
	switch a := a.(type) {
	case string:
		return a
	case []byte:
		return string(a)
	case int:
		return strconv.Itoa(a)
	case int64:
		return strconv.FormatInt(a, 10)
	}
	panic(fmt.Sprintf("store: an argument of type %T", a))
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// SetOffset sets by how much the node's clock is ahead of the time that Do is given. While there are keys with an end, a change is
// what a step of a server's clock is: those keys' ends stay where they are on that clock.
func (s *Store) SetOffset(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset = d
}

// Forget is a restart without data: no key is left, no script, and nobody's subscription. The clock goes on.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.keys)
	clear(s.scripts)
	clear(s.channels)
}

// ForgetScripts is a restart with all data, which keeps no script and nobody's subscription.
func (s *Store) ForgetScripts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.scripts)
	clear(s.channels)
}

// Values returns what the keys hold that are there at a time, but for those that are no strings. The map is the caller's.
func (s *Store) Values(now time.Time) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]string)
	for key, e := range s.keys {
		if !e.over(now.Add(s.offset)) && !e.list {
			all[key] = e.value
		}
	}
	return all
}

// Value returns what one key holds at a time; false where it is not there, or no string.
func (s *Store) Value(now time.Time, key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.keys[key]
	if !ok || e.list || e.over(now.Add(s.offset)) {
		return "", false
	}
	return e.value, true
}

// End returns when the key ends or ended, by the time that Do is given. It is the zero time where there is no such key, or it has
// no end. A key whose end has passed may be forgotten at any time.
func (s *Store) End(key string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.keys[key]
	if e.end.IsZero() {
		return e.end
	}
	return e.end.Add(-s.offset)
}

// Clone returns a store of its own that has the same keys, scripts and clock: what a server saves and starts with again. Nobody has
// subscribed to it.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{
		keys: maps.Clone(s.keys), scripts: maps.Clone(s.scripts), offset: s.offset, channels: make(map[string][]*subscriber),
	}
}

func (e entry) over(now time.Time) bool { return !e.end.IsZero() && !now.Before(e.end) }
