package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
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

// library are the scripts of the library, by the files they are made of.
var library = [][]string{
	{"acquire", "number"},
	{"resume", "number"},
	{"raise"},
	{"extend"},
	{"repair"},
	{"release", "each"},
	{"leave", "each"},
	{"restore", "each"},
	{"inspect"},
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
	for _, parts := range library {
		for _, part := range parts {
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
		if v > minute/2 && v < 1e9 {
			return fmt.Sprintf("about %d min", (v+minute/2)/minute)
		}
		if v > 1e15 {
			return "a time or a seed"
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
		w.store.PlantList("list")
		require.NoError(t, client.LPush(t.Context(), "list", "v").Err())
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

func TestTheScriptsOfTheLibraryDoTheSameOnAStoreAsOnAServer(t *testing.T) {
	t.Parallel()
	server, genuine := theServer(t)
	for name, client := range map[string]*redis.Client{"server": server, "embedded": theEmbedded(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &twins{t: t, store: New(), client: client, loose: !genuine || name == "embedded"}
			seen := make(map[string]bool)
			for seed := range uint64(4) {
				r := &random{twins: w, rnd: rand.New(rand.NewPCG(seed, 0)), seen: seen}
				for range 600 {
					r.step()
				}
				r.forget()
			}
			for _, parts := range library {
				require.Contains(t, seen, parts[0])
			}
			for _, answer := range []string{
				"acquire 0", "acquire 1", "acquire [1 a time or a seed a time or a seed 1]", "extend [0]", "extend [-1]", "release 1", "release 0", "release -1", "release WRONGTYPE",
				"raise 1", "raise 0", "raise -1", "raise ERR", "repair 1", "repair 0", "resume 0", "resume 1", "inspect WRONGTYPE",
			} {
				require.Contains(t, seen, answer, "a case that is not tried shows nothing")
			}
		})
	}
}

// random draws commands over few keys, tokens and numbers, so that they meet.
type random struct {
	*twins
	rnd  *rand.Rand
	seen map[string]bool
}

func (r *random) pick(of ...any) any { return of[r.rnd.IntN(len(of))] }

func (r *random) step() {
	switch r.rnd.IntN(14) {
	case 0, 12:
		r.do("DEL", "a", "b", r.pick("fa", "fb", "a"))
	case 13:
		token, life := r.token(), r.life()
		r.do("SET", "a", token, "PX", life)
		r.do("SET", "b", token, "PX", life)
	case 1:
		r.do("SET", r.pick("a", "b"), r.token(), "PX", r.life())
	case 2:
		r.do("SET", r.pick("a", "b"), r.token(), "NX", "PX", r.life())
	case 3:
		r.do("SET", r.pick("fa", "fb"), r.pick(7, "7", "many", "-3", int64(9007199254740001), seedNow()))
	case 4:
		r.plant(r.pick("a", "b", "fa", "fb").(string))
	case 5:
		r.do("PTTL", r.pick("a", "b", "fa"))
		r.do("GET", r.pick("a", "b", "fa", "fb"))
	default:
		r.script()
	}
}

func (r *random) plant(key string) {
	r.do("DEL", key)
	r.store.PlantList(key)
	require.NoError(r.t, r.client.LPush(r.t.Context(), key, "v").Err())
}

// forget empties both, for the next seed.
func (r *random) forget() {
	r.store.Forget()
	require.NoError(r.t, r.client.FlushAll(r.t.Context()).Err())
	require.NoError(r.t, r.client.ScriptFlush(r.t.Context()).Err())
}

func (r *random) token() any { return r.pick("one", "two") }
func (r *random) life() any {
	return r.pick(int64(60_000), int64(300_000), int64(900_000))
}

func seedNow() int64 { return time.Now().UnixMicro() }

// seed is one near the time, far from it, or none.
func (r *random) seed() any { return r.pick(seedNow(), int64(5e15), int64(0)) }

func (r *random) script() {
	parts := library[r.rnd.IntN(len(library))]
	keys, counters := []any{"a"}, []any{"fa"}
	if r.rnd.IntN(2) == 0 {
		keys, counters = []any{"a", "b"}, []any{"fa", "fb"}
	}
	locks := len(keys)
	both := append(append([]any{}, keys...), counters...)
	if r.rnd.IntN(3) == 0 { // not fenced
		both, counters = keys, nil
	}
	const retention = int64(900_000)
	var argv []any
	switch parts[0] {
	case "acquire":
		keys, argv = both, []any{r.token(), r.life(), locks, r.seed(), retention}
	case "resume":
		keys, argv = both, []any{r.token(), r.life(), locks, r.seed(), retention, r.token()}
	case "raise":
		keys, argv = append(append([]any{}, keys...), []any{"fa", "fb"}[:locks]...), []any{r.token(), r.pick(8, seedNow()), retention}
	case "extend":
		argv = append([]any{r.token(), r.life(), retention}, counters...)
	case "repair":
		argv = append([]any{r.token(), r.life(), r.pick(8, seedNow()), retention}, counters...)
	case "leave":
		argv = []any{r.token(), r.life()}
	case "restore":
		argv = []any{r.token(), r.token()}
	case "inspect":
		keys, argv = []any{"a"}, []any{"fa"}
	default:
		argv = []any{r.token()}
	}
	args := append(append([]any{"EVAL", libraryScript(r.t, parts), len(keys)}, keys...), argv...)
	r.seen[parts[0]] = true
	r.seen[parts[0]+" "+strings.ReplaceAll(r.do(args...), "int64", "")] = true
}
