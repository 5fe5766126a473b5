package store

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestTheScriptsOfTheLibraryDoTheSameOnAStoreAsOnAServer(t *testing.T) {
	t.Parallel()
	server, genuine := theServer(t)
	for name, client := range map[string]*redis.Client{"server": server, "embedded": theEmbedded(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &twins{t: t, store: New(), client: client, loose: !genuine || name == "embedded"}
			r := &random{twins: w, seen: make(map[string]bool)}
			for seed := range uint64(4) {
				r.rnd = rand.New(rand.NewPCG(seed, 0))
				r.subscribe()
				for range 900 {
					r.step()
				}
				r.compareHeard()
				r.forget()
			}
			for _, script := range library {
				require.Contains(t, r.seen, script.name)
			}
			for _, answer := range mustBeSeen {
				require.Contains(t, r.seen, answer, "a case that is not tried shows nothing")
			}
		})
	}
}

const wrongType = `"WRONGTYPE Operation against a key holding the wrong kind of value"`

var mustBeSeen = []string{
	"acquire -1", "acquire -2", "acquire 1", "acquire [1 a time or a seed a time or a seed 1]", "extend [0]", "extend [-1]",
	"again -1", "again -2", "again 1", "again [1 a time or a seed a time or a seed 1]", "again WRONGTYPE",
	"release 1", "release 0", "release -1", "release WRONGTYPE", "leave 1", "restore -1",
	"raise 1", "raise 0", "raise -1", "raise ERR", "repair 1", "repair 0", "resume 0", "resume 1", "inspect WRONGTYPE",
	`hand [1 0]`, `hand [0 0]`, `hand [-1 0]`, `hand [1 1 "x"]`, `hand [0 1 "y"]`, `hand [1 ` + wrongType + `]`, "hand WRONGTYPE",
	`queue [0]`, `queue [1 0 2 -2 1]`, `queue [1 1 2 about 5 min 1]`, `queue [1 2 3 about 5 min 0]`, `queue [-1 ` + wrongType + `]`, `queue [-1 "ERR the queue is too long"]`,
	`quit [-1 0]`, `quit [0 0]`, `quit [0 1 "x"]`, `quit [-1 ` + wrongType + `]`,
}

// random draws commands over few keys, tokens and numbers, so that they meet.
type random struct {
	*twins
	rnd  *rand.Rand
	seen map[string]bool

	heard []string // of the store's, by channel and payload
	there *redis.PubSub
}

func (r *random) pick(of ...any) any { return of[r.rnd.IntN(len(of))] }

func (r *random) step() {
	switch r.rnd.IntN(18) {
	case 0, 1:
		r.do("DEL", "a", "b", r.pick("fa", "fb", "a"))
	case 2:
		token, life := r.token(), r.life()
		r.do("SET", "a", token, "PX", life)
		r.do("SET", "b", token, "PX", life)
	case 3:
		r.do("SET", r.pick("a", "b"), r.token(), "PX", r.life())
	case 4:
		r.do("SET", r.pick("a", "b"), r.token(), "NX", "PX", r.life())
	case 5:
		r.do("SET", r.pick("fa", "fb"), r.pick(7, "7", "many", "-3", int64(9007199254740001), seedNow()))
	case 6:
		key := r.pick("a", "b", "fa", "fb")
		r.do("DEL", key)
		r.do("LPUSH", key, "v")
	case 7:
		r.do("PTTL", r.pick("a", "b", "fa"))
		r.do("GET", r.pick("a", "b", "fa", "fb"))
	case 8:
		r.lists()
	case 9:
		r.spoilQueue()
	default:
		r.script()
	}
}

// lists are the commands of lists by themselves, on what may be a string, too.
func (r *random) lists() {
	key, id := r.pick("qa", "qb", "a"), r.id()
	for range 3 {
		switch r.rnd.IntN(7) {
		case 0:
			r.do("LPUSH", key, id, r.id())
		case 1:
			r.do("RPUSH", key, id)
		case 2:
			r.do("LPOP", key)
		case 3:
			r.do("LREM", key, r.pick(0, 1, -1, -2), id)
		case 4:
			r.do("LLEN", key)
		case 5:
			r.do("PUBLISH", r.pick("w:x", "w:z"), id)
		}
		r.do("LRANGE", key, r.pick(0, 1, -2), r.pick(-1, 0, 3))
		r.do("EXISTS", key)
	}
}

// spoilQueue puts into the place of a queue what is none, one that is far too long, or nothing.
func (r *random) spoilQueue() {
	key := r.pick("qa", "qb")
	r.do("DEL", key)
	switch r.rnd.IntN(4) {
	case 0:
		r.do("SET", key, "words")
	case 1:
		long := []any{"RPUSH", key}
		for range 1025 {
			long = append(long, "z")
		}
		r.do(long...)
	}
}

// subscribe has x and y listen at both, and z at none.
func (r *random) subscribe() {
	r.heard = nil
	for _, channel := range []string{"w:x", "w:y"} {
		r.store.Subscribe(channel, func(payload string) { r.heard = append(r.heard, channel+" "+payload) })
	}
	if r.there != nil {
		return
	}
	r.there = r.client.Subscribe(r.t.Context(), "w:x", "w:y")
	r.t.Cleanup(func() { require.NoError(r.t, r.there.Close()) })
	for range 2 {
		_, err := r.there.Receive(r.t.Context())
		require.NoError(r.t, err)
	}
}

// compareHeard requires that those at the server heard the same.
func (r *random) compareHeard() {
	for _, want := range r.heard {
		got, err := r.there.ReceiveTimeout(r.t.Context(), time.Minute)
		require.NoError(r.t, err)
		message, ok := got.(*redis.Message)
		require.True(r.t, ok, "%v", got)
		require.Equal(r.t, want, message.Channel+" "+message.Payload)
	}
	require.NotEmpty(r.t, r.heard)
}

// forget empties both, for the next seed.
func (r *random) forget() {
	r.store.Forget()
	require.NoError(r.t, r.client.FlushAll(r.t.Context()).Err())
	require.NoError(r.t, r.client.ScriptFlush(r.t.Context()).Err())
}

func (r *random) token() any { return r.pick("one", "two") }
func (r *random) id() any    { return r.pick("x", "y", "z") }
func (r *random) life() any {
	return r.pick(int64(60_000), int64(300_000), int64(900_000))
}

func seedNow() int64 { return time.Now().UnixMicro() }

// seed is one near the time, far from it, or none.
func (r *random) seed() any { return r.pick(seedNow(), int64(5e15), int64(0)) }

func (r *random) script() {
	script := library[r.rnd.IntN(len(library))]
	keys, counters, queues := []any{"a"}, []any{"fa"}, []any{"qa"}
	if r.rnd.IntN(2) == 0 {
		keys, counters, queues = []any{"a", "b"}, []any{"fa", "fb"}, []any{"qa", "qb"}
	}
	keys, argv := r.arguments(script.name, keys, counters, queues)
	args := append(append([]any{"EVAL", libraryScript(r.t, script.parts), len(keys)}, keys...), argv...)
	r.seen[script.name] = true
	r.seen[script.name+" "+strings.ReplaceAll(r.do(args...), "int64", "")] = true
	if script.name == "queue" { // whose end may be a second away: none may come between a command here and the same one there
		r.do("PTTL", "qa")
		r.do("PEXPIRE", "qa", int64(900_000))
	}
}

func (r *random) arguments(name string, keys, counters, queues []any) (all, argv []any) {
	locks := len(keys)
	both, named := append(append([]any{}, keys...), counters...), counters
	if r.rnd.IntN(3) == 0 { // not fenced
		both, counters = keys, nil
	}
	const retention = int64(900_000)
	switch name {
	case "acquire", "again":
		return both, []any{r.token(), r.life(), locks, r.seed(), retention}
	case "resume":
		return both, []any{r.token(), r.life(), locks, r.seed(), retention, r.token()}
	case "raise":
		return append(append([]any{}, keys...), named...), []any{r.token(), r.pick(8, seedNow()), retention}
	case "extend":
		return keys, append([]any{r.token(), r.life(), retention}, counters...)
	case "repair":
		return keys, append([]any{r.token(), r.life(), r.pick(8, seedNow()), retention}, counters...)
	case "leave":
		return keys, []any{r.token(), r.life()}
	case "restore":
		return keys, []any{r.token(), r.token()}
	case "inspect":
		return []any{"a"}, []any{"fa", "qa"}
	case "hand":
		return keys, append([]any{r.token(), r.pick("", "two"), "w:"}, queues[r.rnd.IntN(locks):]...)
	case "queue":
		return []any{"a"}, []any{"qa", r.id(), r.pick(0, 1), r.pick(0, 1)}
	case "quit":
		return []any{"a"}, []any{r.id(), "", "w:", "qa"}
	default:
		return keys, []any{r.token()}
	}
}
