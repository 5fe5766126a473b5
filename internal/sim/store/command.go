package store

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// command is one that scripts may run, too.
type command struct {
	least, most int // how many arguments it takes, its name included; most 0: any number
	run         func(s *Store, args []string) (any, error)
}

var commands = map[string]command{
	"set":     {3, 0, (*Store).set},
	"get":     {2, 2, (*Store).get},
	"del":     {2, 0, (*Store).del},
	"exists":  {2, 0, (*Store).exists},
	"pttl":    {2, 2, (*Store).pttl},
	"pexpire": {3, 3, (*Store).pexpire},
	"lpush":   {3, 0, (*Store).lpush},
	"rpush":   {3, 0, (*Store).rpush},
	"lpop":    {2, 2, (*Store).lpop},
	"lrem":    {4, 4, (*Store).lrem},
	"lrange":  {4, 4, (*Store).lrange},
	"llen":    {2, 2, (*Store).llen},
	"publish": {3, 3, (*Store).publish},
	"time":    {1, 1, (*Store).time},
	"ping":    {1, 1, func(*Store, []string) (any, error) { return status("PONG"), nil }},
}

// status is a reply that scripts see as a table, and clients as a string.
type status string

// takes tells whether the command takes so many arguments.
func (c command) takes(n int) bool { return n >= c.least && (c.most == 0 || n <= c.most) }

func wrongNumber(name string) Error {
	return Error("ERR wrong number of arguments for '" + name + "' command")
}

// run runs a command for a client. The mutex is held.
func (s *Store) run(name string, args []string) (any, error) {
	c, ok := commands[name]
	switch {
	case !ok:
		return nil, Error("ERR unknown command '" + first(args) + "', with args beginning with: ")
	case !c.takes(len(args)):
		return nil, wrongNumber(name)
	}
	reply, err := c.run(s, args)
	if text, ok := reply.(status); ok {
		return string(text), err
	}
	return reply, err
}

// entry returns what is under the key now.
func (s *Store) entry(key string) (entry, bool) {
	e, ok := s.keys[key]
	if ok && e.over(s.now) {
		delete(s.keys, key)
		return entry{}, false
	}
	return e, ok
}

func (s *Store) set(args []string) (any, error) {
	e := entry{value: args[2]}
	var absent, present, keep bool
	for rest := args[3:]; len(rest) > 0; rest = rest[1:] {
		switch option := strings.ToLower(rest[0]); {
		case option == "nx" && !present:
			absent = true
		case option == "xx" && !absent:
			present = true
		case option == "keepttl" && e.end.IsZero():
			keep = true
		case (option == "px" || option == "ex") && e.end.IsZero() && !keep && len(rest) > 1:
			life, err := length(rest[1], option)
			if err != nil {
				return nil, err
			}
			e.end = s.now.Add(life)
			rest = rest[1:]
		default:
			return nil, errSyntax
		}
	}
	old, there := s.entry(args[1])
	if absent && there || present && !there {
		return nil, nil
	}
	if keep {
		e.end = old.end
	}
	s.keys[args[1]] = e
	return status("OK"), nil
}

// length is the life that SET gives a key.
func length(text, option string) (time.Duration, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errNumber
	}
	unit := time.Millisecond
	if option == "ex" {
		unit = time.Second
	}
	if n <= 0 || n > int64(math.MaxInt64/unit) {
		return 0, Error("ERR invalid expire time in 'set' command")
	}
	return time.Duration(n) * unit, nil
}

func (s *Store) get(args []string) (any, error) {
	e, ok := s.entry(args[1])
	switch {
	case !ok:
		return nil, nil
	case e.list:
		return nil, errWrongType
	}
	return e.value, nil
}

func (s *Store) del(args []string) (any, error) {
	n := int64(0)
	for _, key := range args[1:] {
		if _, ok := s.entry(key); ok {
			delete(s.keys, key)
			n++
		}
	}
	return n, nil
}

func (s *Store) exists(args []string) (any, error) {
	n := int64(0)
	for _, key := range args[1:] { // one that is named twice counts twice
		if _, ok := s.entry(key); ok {
			n++
		}
	}
	return n, nil
}

func (s *Store) pttl(args []string) (any, error) {
	e, ok := s.entry(args[1])
	switch {
	case !ok:
		return int64(-2), nil
	case e.end.IsZero():
		return int64(-1), nil
	}
	return e.end.Sub(s.now).Milliseconds(), nil
}

func (s *Store) pexpire(args []string) (any, error) {
	n, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return nil, errNumber
	}
	if n > int64(math.MaxInt64/time.Millisecond) {
		return nil, Error("ERR invalid expire time in 'pexpire' command")
	}
	e, ok := s.entry(args[1])
	switch {
	case !ok:
		return int64(0), nil
	case n <= 0:
		delete(s.keys, args[1])
	default:
		e.end = s.now.Add(time.Duration(n) * time.Millisecond)
		s.keys[args[1]] = e
	}
	return int64(1), nil
}

func (s *Store) time([]string) (any, error) {
	return []any{strconv.FormatInt(s.now.Unix(), 10), strconv.Itoa(s.now.Nanosecond() / int(time.Microsecond))}, nil
}
