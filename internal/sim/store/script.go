package store

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

const chunk = "user_script" // what a script is called in its errors

// script is one that was compiled.
type script struct {
	hash  string
	proto *lua.FunctionProto
}

// compiled holds the scripts by their source: every store of a process is sent the same ones. What is compiled is only read.
var compiled sync.Map // of *script

// compile returns the script of a source.
func compile(source string) (*script, error) {
	if s, ok := compiled.Load(source); ok {
		return s.(*script), nil
	}
	parsed, err := parse.Parse(strings.NewReader(source), chunk)
	if err != nil {
		return nil, Error("ERR Error compiling script (new function): " + oneLine(err.Error()))
	}
	p, err := lua.Compile(parsed, chunk)
	if err != nil {
		return nil, Error("ERR Error compiling script (new function): " + oneLine(err.Error()))
	}
	if concatenates(p) {
		return nil, Error("ERR Error compiling script (new function): the store does not concatenate")
	}
	p.IsVarArg &^= lua.VarArgNeedsArg // a chunk has no "arg": to make that table for each run took a tenth of the run
	sum := sha1.Sum([]byte(source))
	s := &script{hex.EncodeToString(sum[:]), p}
	compiled.Store(source, s)
	return s, nil
}

// concatenates tells whether the function does so: the interpreter writes a number with all its digits then, and a server
// with 14, which no metamethod can mend.
func concatenates(p *lua.FunctionProto) bool {
	const shift = 26 // an instruction begins with its code
	for _, instruction := range p.Code {
		if int(instruction>>shift) == lua.OP_CONCAT {
			return true
		}
	}
	for _, inner := range p.FunctionPrototypes {
		if concatenates(inner) {
			return true
		}
	}
	return false
}

func (s *Store) eval(args []string) (any, error) {
	if len(args) < 3 {
		return nil, wrongNumber("eval")
	}
	keys, argv, err := split(args)
	if err != nil {
		return nil, err
	}
	script, err := s.keep(args[1])
	if err != nil {
		return nil, err
	}
	return s.interpret(script, keys, argv)
}

// Load makes the script known by its hash, which it returns, as SCRIPT LOAD does. It does not run it.
func (s *Store) Load(source string) (hash string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	script, err := s.keep(source)
	if err != nil {
		return "", err
	}
	return script.hash, nil
}

func (s *Store) keep(source string) (*script, error) {
	script, err := compile(source)
	if err == nil {
		s.scripts[script.hash] = script
	}
	return script, err
}

func (s *Store) evalsha(args []string) (any, error) {
	if len(args) < 3 {
		return nil, wrongNumber("evalsha")
	}
	keys, argv, err := split(args)
	if err != nil {
		return nil, err
	}
	script, ok := s.scripts[strings.ToLower(args[1])]
	if !ok {
		return nil, errNoScript
	}
	return s.interpret(script, keys, argv)
}

// split returns the keys of a command that runs a script, and what is behind them.
func split(args []string) (keys, argv []string, err error) {
	n, err := strconv.Atoi(args[2])
	rest := args[3:]
	switch {
	case err != nil:
		return nil, nil, errNumber
	case n > len(rest):
		return nil, nil, Error("ERR Number of keys can't be greater than number of args")
	case n < 0:
		return nil, nil, Error("ERR Number of keys can't be negative")
	}
	return rest[:n], rest[n:], nil
}

// interpret runs a script, which is not undone where it fails half way.
func (s *Store) interpret(script *script, keys, argv []string) (any, error) {
	in := interpreters.Get().(*interpreter)
	defer interpreters.Put(in)
	in.store = s
	defer func() { in.store = nil }()
	reply, err := in.run(script.proto, keys, argv)
	if fault, ok := errors.AsType[*lua.ApiError](err); ok {
		return nil, failure(fault, script.hash)
	}
	return reply, err
}

// failure is the reply for a script that raised an error.
func failure(fault *lua.ApiError, hash string) Error {
	said := ""
	switch what := fault.Object.(type) {
	case *lua.LTable:
		said = lua.LVAsString(what.RawGetString("err"))
	case lua.LString:
		said = "ERR " + string(what)
	}
	return Error(oneLine(said) + " script: " + hash + ", on @" + chunk)
}

// oneLine is a text that fits into one reply.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
