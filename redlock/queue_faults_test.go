package redlock

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pollBound is how late a poll can be that nothing else shortens.
const pollBound = 100 * time.Millisecond

// Whatever befalls the canary, and whenever, a waiter has the lock within two polls of its release: one in another process, and one
// in the same.
func TestACanaryThatIsOfNoUseHoldsUpNobody(t *testing.T) {
	t.Parallel()
	befalls := map[string]func(m *master, key string){
		"hung":            func(m *master, _ string) { m.stop() },
		"gone":            func(m *master, _ string) { m.set(way{down: errRefused}) },
		"silent":          func(m *master, _ string) { m.set(way{drop: true}) },
		"restarted empty": func(m *master, _ string) { m.restartEmpty() },
		"a ghost with an hour of life": func(m *master, key string) {
			m.hold(key, time.Hour)
		},
		"a ghost without an end":   func(m *master, key string) { m.put("set", key, foreign) },
		"a key of another type":    func(m *master, key string) { m.put("del", key); m.put("rpush", key, "x") },
		"no queue":                 func(m *master, key string) { m.put("set", queueTag+key, "words") },
		"a queue of dead clients":  func(m *master, key string) { m.crowd(key, 60) },
		"a queue that is too long": func(m *master, key string) { m.crowd(key, 2000) },
	}
	moments := []string{"from the start", "while the lock is held", "while one waits"}
	for name, befall := range befalls {
		for i := range 2 * len(moments) {
			moment, who := moments[i/2], i%2
			bubble(t, func(t *testing.T) {
				c := newCrew(t, 2, WithTTL(time.Minute))
				key, turns := c.keyAt(2), make(chan turn, 1)
				at := func(now string) {
					if now == moment {
						befall(c.masters[2], key)
					}
				}
				at(moments[0])
				lock := c.mustTryLock(t, key)
				at(moments[1])
				c.queueUp(t.Context(), who, key, turns)
				at(moments[2])
				time.Sleep(time.Second)
				released := time.Now()
				require.NoError(t, lock.Unlock(t.Context()))
				got := c.mustHave(turns)
				require.LessOrEqual(t, got.at.Sub(released), 2*pollBound, "%s %s, %d", name, moment, who)
				c.masters[2].resume()
			})
		}
	}
}

// crowd puts so many into the queue of a key that nobody hears.
func (m *master) crowd(key string, n int) {
	for range n {
		m.put("rpush", queueTag+key, "dead")
	}
}

// troubles collects what the hook is told.
type troubles struct {
	mu   sync.Mutex
	told []Trouble
}

func (s *troubles) hook() Option {
	return WithHooks(Hooks{Trouble: func(_ context.Context, t Trouble) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, t)
	}})
}

// requireTold requires that this trouble was told of the node.
func (s *troubles) requireTold(t *testing.T, node int, text string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.told {
		fault, ok := errors.AsType[*NodeError](e.Err)
		require.True(t, ok)
		require.Equal(t, e.Node, fault.Index)
		if e.Node == node && strings.Contains(e.Err.Error(), text) {
			return
		}
	}
	require.Fail(t, "not told", "%s: %s: %v", t.Name(), text, s.told)
}

// answers has scripts of the queue answered in one way instead of being run, but for what a hand does to the lock.
func (m *master) answers(by map[string]any) way {
	return way{out: trip / 2, back: trip / 2, answer: func(r request) (any, error, bool) {
		v, ok := by[r.script]
		if _, list := v.([]any); list && r.script == "hand" {
			m.put("del", r.key)
		}
		if err, bad := v.(error); bad {
			return nil, err, true
		}
		return v, nil, ok
	}}
}

func TestWithoutAQueueWaitersPollAndTheHookIsTold(t *testing.T) {
	t.Parallel()
	const noPerm = "NOPERM this user has no permissions to run the 'rpush' command"
	one, zero := int64(1), int64(0)
	for name, tt := range map[string]struct {
		by   map[string]any
		deaf error
		told string
	}{
		"no list":                       {by: map[string]any{"queue": []any{int64(-1), noPerm}}, told: "NOPERM"},
		"no script for it":              {by: map[string]any{"queue": reply("ERR no such thing")}, told: "ERR no such thing"},
		"a strange spot":                {by: map[string]any{"queue": []any{one, zero, "x", zero}}, told: errNoQueue.Error()},
		"a spot that is none":           {by: map[string]any{"queue": "OK"}, told: errNoQueue.Error()},
		"an empty answer":               {by: map[string]any{"queue": []any{}}, told: errNoQueue.Error()},
		"a release that may not name":   {by: map[string]any{"hand": []any{one, "NOPERM publish"}}, told: "NOPERM publish"},
		"a release that names nonsense": {by: map[string]any{"hand": []any{one, one}}, told: errNoQueue.Error()},
		"a hand that is refused":        {by: map[string]any{"hand": reply("BUSY a script is running")}, told: ""},
		"no subscription":               {deaf: reply("NOPERM no channel"), told: "NOPERM no channel"},
	} {
		bubble(t, func(t *testing.T) {
			var told troubles
			c := newCrew(t, 2, WithTTL(time.Minute), told.hook())
			key, turns := c.keyAt(1), make(chan turn, 1)
			w := c.masters[1].answers(tt.by)
			w.deaf = tt.deaf
			c.masters[1].set(w)
			lock := c.mustTryLock(t, key)
			c.queueUp(t.Context(), 1, key, turns)
			time.Sleep(time.Second)
			released := time.Now()
			require.NoError(t, lock.Unlock(t.Context()), name)
			got := c.mustHave(turns)
			bound := pollBound + c.core.yield(3*trip, c.terms) + 4*trip
			if name == "a hand that is refused" {
				bound = 2 * pollBound // the key is still there, as that of somebody who is about to have the others would be
			}
			require.LessOrEqual(t, got.at.Sub(released), bound, name)
			if tt.told != "" {
				told.requireTold(t, 1, tt.told)
			}
			time.Sleep(2 * ttl)
			require.Empty(t, c.ours(), name)
		})
	}
}

// Anybody who may publish can give hints: that must cost the nodes no more than it costs him.
func TestHintsOfAForeignerAreFollowedNowAndThen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var told troubles
		c := newCrew(t, 2, append(unpolled(), told.hook())...)
		key, turns := c.keyAt(0), make(chan turn, 1)
		lock := c.mustTryLock(t, key)
		c.queueUp(t.Context(), 1, key, turns)
		before := c.sent("")
		for range 10_000 {
			c.masters[0].put("publish", channelTag+c.ids(1)[0], queueTag+key)
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(10 * trip)
		// Each that is followed is a question, its undo and a place in the queue.
		require.Less(t, c.sent("")-before, 4*(hintsAtOnce+int(time.Second/hintEvery)))
		require.Greater(t, c.sent("")-before, int(time.Second/hintEvery), "some are followed")
		told.requireTold(t, 0, errTooManyHints.Error())
		before = c.sent("")
		for range 10_000 { // of a queue in which nobody waits: passed on by one command
			c.masters[0].put("publish", channelTag+c.ids(1)[0], queueTag+"another")
			time.Sleep(100 * time.Microsecond)
		}
		require.Less(t, c.sent("")-before, 2*(hintsAtOnce+int(time.Second/hintEvery)))
		c.masters[0].put("publish", channelTag+c.ids(1)[0], "anything")
		time.Sleep(trip)
		told.requireTold(t, 0, errStrangeHint.Error())

		time.Sleep(time.Second)
		require.Equal(t, c.ids(1), c.waiting(key), "it has not lost its place for good")
		released := time.Now()
		require.NoError(t, lock.Unlock(t.Context()))
		require.LessOrEqual(t, c.mustHave(turns).at.Sub(released), 3*trip)
		c.requireGone()
	})
}

// A subscription that breaks is there again soon, and until then the poll is.
func TestASubscriptionThatBreaksIsMadeAnew(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var told troubles
		c := newCrew(t, 2, append(unpolled(), told.hook())...)
		key, turns := c.keyAt(4), make(chan turn, 1)
		lock := c.mustTryLock(t, key)
		c.queueUp(t.Context(), 1, key, turns)
		c.masters[4].breakStreams()
		time.Sleep(time.Second)
		told.requireTold(t, 4, "EOF")
		released := time.Now()
		require.NoError(t, lock.Unlock(t.Context()))
		require.LessOrEqual(t, c.mustHave(turns).at.Sub(released), 3*trip)
		c.requireGone()
	})
}
