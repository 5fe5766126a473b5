package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	_ "github.com/quorumlock/go-redlock/internal/testcluster/containers" // masters in containers, where there are any
)

const luaDir = "../../node/lua"

// library are the scripts of the library, and the files they are made of.
var library = []struct {
	name  string
	parts []string
}{
	{"acquire", []string{"acquire", "number"}},
	{"resume", []string{"resume", "number"}},
	{"again", []string{"again", "number"}},
	{"raise", []string{"raise"}},
	{"extend", []string{"extend"}},
	{"repair", []string{"repair"}},
	{"release", []string{"release", "each", "answer"}},
	{"leave", []string{"leave", "each", "answer"}},
	{"restore", []string{"restore", "each", "answer"}},
	{"inspect", []string{"inspect"}},
	{"hand", []string{"release", "each", "name"}},
	{"queue", []string{"queue"}},
	{"quit", []string{"quit", "name"}},
}

// libraryScript is a script as it is sent.
func libraryScript(t *testing.T, parts []string) string {
	t.Helper()
	var all strings.Builder
	for _, part := range parts {
		text, err := os.ReadFile(filepath.Join(luaDir, part+".lua"))
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

func TestEveryScriptOfTheLibraryIsHeldAgainstAServer(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(luaDir, "*.lua"))
	require.NoError(t, err)
	named := make(map[string]bool)
	for _, script := range library {
		for _, part := range script.parts {
			named[part+".lua"] = true
		}
	}
	require.NotEmpty(t, files)
	for _, file := range files {
		require.Contains(t, named, filepath.Base(file))
	}
	require.Len(t, named, len(files))
}

// theServer is a master of the best kind that there is, and whether it is a real one.
func theServer(t *testing.T) (client *redis.Client, genuine bool) {
	t.Helper()
	c := testcluster.ForTest(t, 1)
	client = redis.NewClient(&redis.Options{Addr: c.Nodes[0].Direct(), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client, c.Backend != testcluster.Embedded
}

// theEmbedded is a master inside this process.
func theEmbedded(t *testing.T) *redis.Client {
	t.Helper()
	c, err := testcluster.Start(t.Context(), testcluster.Embedded, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	client := redis.NewClient(&redis.Options{Addr: c.Nodes[0].Direct(), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// said is a reply in a form that can be compared: of an error its first word, of a life of a minute or more about how long it is.
func said(v any, err error) string {
	switch {
	case errors.Is(err, redis.Nil):
		return "<nil>"
	case err != nil:
		word, _, _ := strings.Cut(err.Error(), " ")
		return word
	}
	switch v := v.(type) {
	case error:
		return said(nil, v)
	case []any:
		parts := make([]string, len(v))
		for i, element := range v {
			parts[i] = said(element, nil)
		}
		return "[" + strings.Join(parts, " ") + "]"
	case int64:
		// What passes between two commands is far less than half a minute.
		const minute = int64(time.Minute / time.Millisecond)
		switch {
		case v > 1e15:
			return "a time or a seed"
		case v > minute/2 && v < 1e9:
			return fmt.Sprintf("about %d min", (v+minute/2)/minute)
		case v > minute/120 && v <= minute/2:
			return "some seconds"
		}
	}
	return fmt.Sprintf("%#v", v)
}

// twins runs the same commands on a store and on a server, and holds their replies against each other.
type twins struct {
	t      *testing.T
	store  *Store
	client *redis.Client
	loose  bool // which error it is does not count: miniredis says of every one that a script raised that it did not compile
	trace  []string
}

func (w *twins) do(args ...any) string {
	w.t.Helper()
	v, fault := w.store.Do(time.Now(), args)
	ours := said(v, fault)
	v, err := w.client.Do(w.t.Context(), args...).Result()
	theirs := said(v, err)
	if w.loose && fault != nil && err != nil && !errors.Is(err, redis.Nil) {
		theirs = ours
	}
	brief := args
	if len(args) > 1 && strings.HasPrefix(fmt.Sprint(args[0]), "EVAL") {
		brief = append([]any{args[0], len(fmt.Sprint(args[1]))}, args[2:]...)
	}
	w.trace = append(w.trace, fmt.Sprint(brief, " -> ", theirs))
	require.Equal(w.t, theirs, ours, "%s\nafter\n%s", brief, strings.Join(w.trace, "\n"))
	return ours
}

func TestAStoreConvertsAsAServerDoes(t *testing.T) {
	t.Parallel()
	server, genuine := theServer(t)
	for name, client := range map[string]*redis.Client{"server": server, "embedded": theEmbedded(t)} {
		exact := genuine && name == "server"
		w := &twins{t: t, store: New(), client: client}
		w.do("RPUSH", "list", "v")
		for _, tt := range converted {
			if (exact || !tt.lean) && (tt.reply != nil || !tt.lean) {
				w.do("EVAL", tt.script, 1, "k", "a", "")
				w.do("DEL", "k")
			}
		}
		for _, tt := range failing {
			if exact || !tt.lean {
				w.do("EVAL", tt.script, 2, "k", "list")
			}
		}
	}
}
