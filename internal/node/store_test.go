package node

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// store is what a node keeps, with the life of keys on the bubble's time: SET NX PX, and the scripts of locks that are not
// fenced, as the tests against servers show that they work.
type store struct {
	keys  map[string]entry
	known map[any]bool // the scripts, by their hashes
}

type entry struct {
	token string
	ends  time.Time
	left  bool // the last to set its life was a leave
}

func newStore() *store { return &store{keys: map[string]entry{}} }

// knowing is a store that knows all scripts.
func knowing() *store {
	s := newStore()
	for hash := range scriptWords {
		s.learn(hash)
	}
	return s
}

func (s *store) learn(hash any) {
	if s.known == nil {
		s.known = map[any]bool{}
	}
	s.known[hash] = true
}

// holder is the token that the key carries now.
func (s *store) holder(key any) string {
	e, ok := s.keys[key.(string)]
	if !ok || !time.Now().Before(e.ends) {
		return ""
	}
	return e.token
}

// put gives the key a token and a life in milliseconds.
func (s *store) put(key, token, life any) {
	s.keys[key.(string)] = entry{token: token.(string), ends: time.Now().Add(time.Duration(life.(int64)) * time.Millisecond)}
}

// hashOf is the hash of the script that a command runs, or nil.
func hashOf(args []any) any {
	switch args[0] {
	case "evalsha":
		return args[1]
	case "eval":
		for hash, s := range byHash {
			if s.source == args[1] {
				return hash
			}
		}
	}
	return nil
}

// sets tells whether the command may make a key.
func sets(args []any) bool {
	switch hashOf(args) {
	case acquireScript.hash, resumeScript.hash, repairScript.hash, againScript.hash:
		return true
	}
	return args[0] == "set"
}

// run applies one command and returns the answer.
func (s *store) run(args []any) reply {
	hash := hashOf(args)
	switch {
	case args[0] == "set":
		if s.holder(args[1]) != "" {
			return refused
		}
		s.put(args[1], args[2], args[5])
		return granted
	case hash == nil:
		return pong
	case args[0] == "eval":
		s.learn(hash)
	case !s.known[hash]:
		return failed(redis.ErrNoScript)
	}
	count := args[2].(int)
	return s.script(hash, args[3:3+count], args[3+count:])
}

func (s *store) script(hash any, keys, argv []any) reply {
	switch hash {
	case acquireScript.hash:
		return s.setAll(keys, argv, func(holder string) bool { return holder == "" })
	case againScript.hash:
		return s.setAll(keys, argv, func(holder string) bool { return holder == "" || holder == argv[0] })
	case resumeScript.hash:
		return s.setAll(keys, argv, func(holder string) bool { return holder == argv[5] })
	case repairScript.hash:
		return s.setAll(keys, argv, func(holder string) bool { return holder == "" || holder == argv[0] })
	case extendScript.hash:
		return s.extend(keys, argv)
	case releaseScript.hash, leaveScript.hash, restoreScript.hash, handScript.hash:
	default:
		return failed(replyError("ERR no script that this store knows"))
	}
	before := any("") // of a release of what was taken over
	if (hash == releaseScript.hash || hash == handScript.hash) && len(argv) > 1 {
		before = argv[1]
	}
	code := s.giveUp(keys, argv[0], before, func(key any) {
		switch hash {
		case leaveScript.hash:
			s.put(key, argv[0], argv[1])
			e := s.keys[key.(string)]
			e.left = true
			s.keys[key.(string)] = e
		case restoreScript.hash:
			e := s.keys[key.(string)]
			e.token = argv[1].(string)
			s.keys[key.(string)] = e
		default:
			delete(s.keys, key.(string))
		}
	})
	if hash == handScript.hash {
		return value([]any{code, int64(0)})
	}
	return value(code)
}

func (s *store) setAll(keys, argv []any, may func(holder string) bool) reply {
	for _, key := range keys {
		if !may(s.holder(key)) {
			return no
		}
	}
	for _, key := range keys {
		s.put(key, argv[0], argv[1])
	}
	return yes
}

func (s *store) extend(keys, argv []any) reply {
	missing, shortest := false, time.Duration(argv[1].(int64))*time.Millisecond
	for _, key := range keys {
		switch s.holder(key) {
		case argv[0]:
			shortest = min(shortest, time.Until(s.keys[key.(string)].ends))
		case "":
			missing = true
		default:
			return another
		}
	}
	if missing {
		return gone
	}
	for _, key := range keys {
		s.put(key, argv[0], argv[1])
	}
	return armed(shortest)
}

func (s *store) giveUp(keys []any, token, before any, ours func(key any)) int64 {
	code := int64(1)
	for _, key := range keys {
		switch s.holder(key) {
		case "":
			code = min(code, 0)
		case token, before:
			ours(key)
		default:
			code = -1
		}
	}
	return code
}
