package store

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// interpreter runs one script at a time. Scripts cannot set globals, so nothing of one is left for the next.
type interpreter struct {
	state *lua.LState
	store *Store // whose script runs
}

// interpreters are those that run no script now: to make one takes longer than to run a script.
var interpreters = sync.Pool{New: func() any { return newInterpreter() }}

func newInterpreter() *interpreter {
	in := &interpreter{state: lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: 64, MinimizeStackMemory: true, RegistrySize: 256, RegistryMaxSize: 64 << 10,
	})}
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		in.state.Push(in.state.NewFunction(open))
		in.state.Push(lua.LString(name))
		in.state.Call(1, 0)
	}
	globals := in.state.G.Global
	for _, name := range [...]string{"print", "dofile", "loadfile", "module", "require", "newproxy"} {
		globals.RawSetString(name, lua.LNil)
	}
	globals.RawSetString("tostring", in.state.NewFunction(toString))
	globals.RawSetString("redis", in.state.SetFuncs(in.state.NewTable(), map[string]lua.LGFunction{
		"call":         func(l *lua.LState) int { return in.command(l, true) },
		"pcall":        func(l *lua.LState) int { return in.command(l, false) },
		"error_reply":  func(l *lua.LState) int { return single(l, "err", strings.TrimPrefix(l.CheckString(1), "-")) },
		"status_reply": func(l *lua.LState) int { return single(l, "ok", l.CheckString(1)) },
	}))
	protect(in.state, globals)
	return in
}

// protect lets scripts neither make a global nor ask for one that is not there, as servers do.
func protect(l *lua.LState, globals *lua.LTable) {
	l.SetMetatable(globals, l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"__newindex": func(l *lua.LState) int {
			l.RaiseError("Script attempted to create global variable '%s'", l.ToString(2))
			return 0
		},
		"__index": func(l *lua.LState) int {
			l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.ToString(2))
			return 0
		},
	}))
}

// run runs a script. The error is what it raised, an *lua.ApiError, or what it answered, an Error.
func (in *interpreter) run(p *lua.FunctionProto, keys, argv []string) (any, error) {
	l := in.state
	l.G.Global.RawSetString("KEYS", listOf(l, keys))
	l.G.Global.RawSetString("ARGV", listOf(l, argv))
	l.Push(l.NewFunctionFromProto(p))
	if err := l.PCall(0, 1, nil); err != nil {
		return nil, err
	}
	defer l.SetTop(0)
	return fromLua(l.Get(-1))
}

func listOf(l *lua.LState, texts []string) *lua.LTable {
	t := l.CreateTable(len(texts), 0)
	for _, text := range texts {
		t.Append(lua.LString(text))
	}
	return t
}

// command is redis.call, or redis.pcall where an error is not to be raised.
func (in *interpreter) command(l *lua.LState, raise bool) int {
	reply, err := in.ask(l)
	if err == nil {
		l.Push(toLua(l, reply))
		return 1
	}
	t := l.NewTable()
	t.RawSetString("err", lua.LString(err.Error()))
	if raise {
		l.Error(t, 1)
	}
	l.Push(t)
	return 1
}

func (in *interpreter) ask(l *lua.LState) (any, error) {
	if l.GetTop() == 0 {
		return nil, Error("ERR Please specify at least one argument for this redis.call() call")
	}
	args := make([]string, l.GetTop())
	for i := range args {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(v)
		case lua.LNumber:
			args[i] = argument(v)
		default:
			return nil, Error("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	name := strings.ToLower(args[0])
	c, ok := commands[name]
	switch {
	case name == "eval" || name == "evalsha":
		return nil, Error("ERR This Redis command is not allowed from script")
	case !ok:
		return nil, Error("ERR Unknown Redis command called from script")
	case !c.takes(len(args)):
		return nil, Error("ERR Wrong number of args calling Redis command from script")
	}
	return c.run(in.store, args)
}

// argument is a number as a command gets it: with 17 digits, which is enough for every whole number there is.
func argument(n lua.LNumber) string { return general(n, 17) }

// general is a number in C's %g with so many digits.
func general(n lua.LNumber, digits int) string {
	text := strconv.FormatFloat(float64(n), 'g', digits, 64)
	mantissa, exponent, found := strings.Cut(text, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if !found {
		return mantissa
	}
	return mantissa + "e" + exponent
}

// toString is Lua's tostring, which writes a number with 14 digits on a server: a number of 16 does not survive it.
func toString(l *lua.LState) int {
	if n, ok := l.CheckAny(1).(lua.LNumber); ok {
		l.Push(lua.LString(general(n, 14)))
	} else {
		l.Push(l.ToStringMeta(l.Get(1)))
	}
	return 1
}

// single makes a table of one field.
func single(l *lua.LState, field, text string) int {
	t := l.NewTable()
	t.RawSetString(field, lua.LString(text))
	l.Push(t)
	return 1
}

// toLua is a reply as a script sees it.
func toLua(l *lua.LState, reply any) lua.LValue {
	switch v := reply.(type) {
	case nil:
		return lua.LFalse
	case int64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case status:
		t := l.NewTable()
		t.RawSetString("ok", lua.LString(v))
		return t
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, element := range v {
			t.Append(toLua(l, element))
		}
		return t
	}
	panic(fmt.Sprintf("store: a reply of type %T", reply))
}

// fromLua is what a script returned as its client sees it.
func fromLua(v lua.LValue) (any, error) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), nil
	case lua.LNumber:
		return int64(v), nil // cut, not rounded
	case lua.LBool:
		if v {
			return int64(1), nil
		}
	case *lua.LTable:
		return fromTable(v)
	}
	return nil, nil
}

func fromTable(t *lua.LTable) (any, error) {
	if text, ok := t.RawGetString("err").(lua.LString); ok {
		return nil, Error(text)
	}
	if text, ok := t.RawGetString("ok").(lua.LString); ok {
		return string(text), nil
	}
	list := []any{}
	for i := 1; ; i++ {
		element := t.RawGetInt(i)
		if element == lua.LNil {
			return list, nil
		}
		reply, err := fromLua(element)
		if err != nil {
			reply = err // as clients have it
		}
		list = append(list, reply)
	}
}
