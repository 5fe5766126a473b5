package node

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed lua/*.lua
var sources embed.FS

// The scripts, each with what concerns the lock itself in front.
var (
	acquireScript = newScript("acquire", "acquire", "number")
	resumeScript  = newScript("resume", "resume", "number")
	raiseScript   = newScript("raise", "raise")
	extendScript  = newScript("extend", "extend")
	repairScript  = newScript("repair", "repair")
	releaseScript = newScript("release", "release", "each", "answer")
	leaveScript   = newScript("leave", "leave", "each", "answer")
	restoreScript = newScript("restore", "restore", "each", "answer")
	inspectScript = newScript("inspect", "inspect")
	againScript   = newScript("again", "again", "number")
	handScript    = newScript("hand", "release", "each", "name")
	queueScript   = newScript("queue", "queue")
	quitScript    = newScript("quit", "quit", "name")
)

// byHash finds a script by its hash, for a node that does not know it.
var byHash = make(map[any]*script)

// script is a Lua script as the lanes send it: by its hash, and by its source to a node that does not know it. The words
// of the command are boxed once here rather than at every call.
type script struct {
	name         string
	source, hash any
}

// newScript makes a script of files, one behind the other.
func newScript(name string, parts ...string) *script {
	var b strings.Builder
	for _, p := range parts {
		text, err := sources.ReadFile("lua/" + p + ".lua")
		if err != nil {
			panic(err) // cannot be: it is embedded
		}
		b.Write(text)
	}
	sum := sha1.Sum([]byte(b.String()))
	s := &script{name: name, source: b.String(), hash: hex.EncodeToString(sum[:])}
	byHash[s.hash] = s
	return s
}

// args is the command for the keys and the arguments.
func (s *script) args(keys []any, argv ...any) []any {
	out := make([]any, 0, 3+len(keys)+len(argv))
	out = append(out, "evalsha", s.hash, len(keys))
	return append(append(out, keys...), argv...)
}

// bySource is a command with its script's source in place of the hash.
func bySource(args []any) []any {
	out := append([]any{}, args...)
	out[0], out[1] = "eval", byHash[args[1]].source
	return out
}

// Scripts returns the scripts as they are sent, by their names; the map is the caller's.
func Scripts() map[string]string {
	all := make(map[string]string, len(byHash))
	for _, s := range byHash {
		all[s.name] = s.source.(string)
	}
	return all
}

// ScriptNames returns the scripts' names by what an EVAL or EVALSHA says, the source or the hash; the map is the caller's.
func ScriptNames() map[string]string {
	all := make(map[string]string, 2*len(byHash))
	for hash, s := range byHash {
		all[hash.(string)], all[s.source.(string)] = s.name, s.name
	}
	return all
}
