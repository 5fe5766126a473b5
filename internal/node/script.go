package node

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
)

//go:embed lua/release.lua
var releaseSource string

var releaseScript = newScript(releaseSource)

// script is a Lua script as the lanes send it: by its hash, and by its source to a node that does not know it. The words
// of the command are boxed once here rather than at every call.
type script struct {
	source, hash any
}

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, hash: hex.EncodeToString(sum[:])}
}

// args is the command for one key and its arguments.
func (s *script) args(key any, argv ...any) []any {
	return append([]any{"evalsha", s.hash, 1, key}, argv...)
}

// bySource is the same command with the script's source in place of its hash.
func (s *script) bySource(args []any) []any {
	out := append([]any{}, args...)
	out[0], out[1] = "eval", s.source
	return out
}
