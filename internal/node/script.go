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
	acquireScript = newScript("acquire", "number")
	resumeScript  = newScript("resume", "number")
	raiseScript   = newScript("raise")
	extendScript  = newScript("extend")
	repairScript  = newScript("repair")
	releaseScript = newScript("release", "each")
	leaveScript   = newScript("leave", "each")
	restoreScript = newScript("restore", "each")
	inspectScript = newScript("inspect")
)

// byHash finds a script by its hash, for a node that does not know it.
var byHash = make(map[any]*script)

// script is a Lua script as the lanes send it: by its hash, and by its source to a node that does not know it. The words
// of the command are boxed once here rather than at every call.
type script struct {
	source, hash any
}

func newScript(parts ...string) *script {
	var b strings.Builder
	for _, p := range parts {
		text, err := sources.ReadFile("lua/" + p + ".lua")
		if err != nil {
			panic(err) // cannot be: it is embedded
		}
		b.Write(text)
	}
	sum := sha1.Sum([]byte(b.String()))
	s := &script{source: b.String(), hash: hex.EncodeToString(sum[:])}
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
