package redlock

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// wishes are options of any value, and which of them are given.
type wishes struct {
	given                                    uint16
	ttl, low, high, hold, retention, timeout time.Duration
	attempts                                 int
	rate                                     float64
	prefix, key, more, label                 string
}

// Bits of given, of the options of a lock first.
const (
	givesTTL uint16 = 1 << iota
	givesBackoff
	givesAttempts
	givesHold
	givesFencing
	givesRetention
	givesLabel
	givesKeys
	givesNil
	givesTimeout
	givesDrift
	givesPrefix
)

func (w *wishes) gives(option uint16) bool { return w.given&option != 0 }

// ofLock are the options of a lock that are given, ofLocker those of the whole Locker.
func (w *wishes) ofLock() (all []LockOption) {
	for i, o := range []LockOption{
		WithTTL(w.ttl), WithBackoff(w.low, w.high), WithMaxAttempts(w.attempts), WithMaxHold(w.hold), WithFencing(),
		WithFenceRetention(w.retention), WithLabel(w.label), WithKeys(strings.Split(w.more, ",")...), nil,
	} {
		if w.gives(givesTTL << i) {
			all = append(all, o)
		}
	}
	return all
}

func (w *wishes) ofLocker() (all []Option) {
	for i, o := range []Option{WithNodeTimeout(w.timeout), WithDrift(w.rate), WithPrefix(w.prefix)} {
		if w.gives(givesTimeout << i) {
			all = append(all, o)
		}
	}
	return all
}

// granted fills in what is not given from the documentation; without ofLock only what is of the whole Locker is given.
func (w *wishes) granted(ofLock bool) wishes {
	g := wishes{
		ttl: 10 * time.Second, low: 50 * time.Millisecond, high: 100 * time.Millisecond, retention: 7 * 24 * time.Hour,
		timeout: 200 * time.Millisecond, rate: 0.01, key: w.key, given: w.given,
	}
	if w.gives(givesTimeout) {
		g.timeout = w.timeout
	}
	if w.gives(givesDrift) {
		g.rate = w.rate
	}
	if w.gives(givesPrefix) {
		g.prefix = w.prefix
	}
	if !ofLock {
		g.given &= givesTimeout | givesDrift | givesPrefix
		return g
	}
	if w.gives(givesTTL) {
		g.ttl = w.ttl / time.Millisecond * time.Millisecond
	}
	if w.gives(givesBackoff) {
		g.low, g.high = w.low, w.high
	}
	if w.gives(givesAttempts) {
		g.attempts = w.attempts
	}
	if w.gives(givesHold) {
		g.hold = w.hold
	}
	if w.gives(givesRetention) {
		g.retention = w.retention / time.Millisecond * time.Millisecond
	}
	if w.gives(givesLabel) {
		g.label = w.label
	}
	if w.gives(givesKeys) {
		g.more = w.more
	}
	return g
}

// fit tells whether what was filled in is valid by the documentation, and whether that is certain: a float64 does not reckon
// to the nanosecond over ten years.
func (w *wishes) fit() (fits, certain bool) {
	const longest = 10 * 365 * 24 * time.Hour
	switch {
	case w.gives(givesNil),
		w.ttl < time.Millisecond, w.ttl > longest,
		w.low <= 0, w.high < w.low, w.attempts < 0,
		w.hold != 0 && w.hold < w.ttl,
		w.gives(givesFencing) && w.retention < w.ttl, w.retention > longest,
		len(w.label) > 256,
		w.timeout <= 0, !(w.rate >= 0 && w.rate < 1), marked(w.prefix):
		return false, true
	}
	left := new(big.Rat).SetFloat64(w.rate)
	left.Mul(left, big.NewRat(-int64(w.ttl), 1))
	left.Add(left, big.NewRat(int64(w.ttl-2*time.Millisecond-w.timeout), 1))
	return left.Sign() > 0, left.Abs(left).Cmp(big.NewRat(int64(time.Microsecond), 1)) > 0
}

// wire are the keys as they go on the wire, sorted, each once; nil where one of them is not valid.
func (w *wishes) wire() (all []string) {
	names := []string{w.key}
	if w.gives(givesKeys) {
		names = append(names, strings.Split(w.more, ",")...)
	}
	for _, name := range names {
		if name == "" || marked(w.prefix+name) || len(w.prefix+name) > 64<<10 {
			return nil
		}
		all = append(all, w.prefix+name)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > 64 {
		return nil
	}
	return all
}

// marked tells whether a text contains a mark of what belongs to a lock and is none.
func marked(s string) bool {
	return strings.Contains(s, "~f:") || strings.Contains(s, "~q:") || strings.Contains(s, "~w:")
}

// FuzzOptions takes a lock with options of any value, given to New, to With, or to the one call. What the documentation does not
// allow is ErrInvalid and nothing is sent; of all else there is a lock, on the keys that were asked for, for no longer than told.
func FuzzOptions(f *testing.F) {
	f.Fuzz(func(t *testing.T, where uint8, given uint16, ttl, low, high, hold, retention, timeout int64, attempts int, rate float64, prefix, key, more, label string, keys, pad uint8) {
		for i := range keys % 80 { // long texts are made here, since the fuzzer would spend its time on making them shorter
			more += ",more" + strconv.Itoa(int(i))
		}
		w := &wishes{
			given, time.Duration(ttl), time.Duration(low), time.Duration(high), time.Duration(hold), time.Duration(retention),
			time.Duration(timeout), attempts, rate, prefix, key, more, label + strings.Repeat("l", 2*int(pad)),
		}
		bubble(t, func(t *testing.T) {
			ofNew, ofCall := w.ofLocker(), w.ofLock()
			if where%3 == 0 {
				for _, o := range ofCall {
					ofNew = append(ofNew, o)
				}
				ofCall = nil
			}
			s := defaults()
			err := s.apply(ofNew)
			g := w.granted(where%3 == 0)
			if fits, certain := g.fit(); certain {
				require.Equal(t, fits, err == nil, "%v: %+v", err, g)
			}
			if err != nil {
				require.ErrorIs(t, err, ErrInvalid)
				return
			}
			c := newCluster(t, 3, ofNew...)
			if where%3 == 1 {
				c.Locker, ofCall = c.With(ofCall...), nil
			}
			lock, err := c.TryLock(t.Context(), key, ofCall...)
			g = w.granted(true)
			fits, certain := g.fit()
			if wire := g.wire(); wire == nil {
				fits, certain = false, true
			}
			if certain {
				require.Equal(t, fits, err == nil, "%v: %+v", err, g)
			}
			if err != nil {
				require.ErrorIs(t, err, ErrInvalid)
				require.Nil(t, lock)
				require.Zero(t, c.sent(""))
				return
			}
			g.requireHeld(t, c, lock)
		})
	})
}

// requireHeld holds that the lock is what was asked for, on every node and in the handle, and that it can be given back.
func (w *wishes) requireHeld(t *testing.T, c *cluster, lock *Lock) {
	t.Helper()
	synctest.Wait()
	require.Equal(t, w.key, lock.Key())
	require.Equal(t, w.gives(givesFencing), lock.Fence() > 0)
	require.Positive(t, lock.Remaining())
	require.LessOrEqual(t, lock.Remaining(), w.ttl-2*time.Millisecond)
	lost := float64(w.ttl) * w.rate
	require.LessOrEqual(t, float64(lock.Remaining()), float64(w.ttl)-lost+float64(time.Microsecond), "%v of %v", lock.Remaining(), w.ttl)
	wire, kept := w.wire(), []string(nil)
	if w.gives(givesFencing) {
		for _, key := range wire {
			kept = append(kept, w.prefix+"~f:"+key[len(w.prefix):])
		}
	}
	slices.Sort(kept)
	for _, m := range c.masters {
		values := m.values()
		require.Equal(t, slices.Sorted(slices.Values(slices.Concat(wire, kept))), slices.Sorted(maps.Keys(values)))
		for _, key := range wire {
			require.Equal(t, values[wire[0]], values[key], "one token for all")
			require.True(t, w.label == "" || strings.HasSuffix(values[key], " "+w.label), "%q says nothing of %q", values[key], w.label)
			require.Equal(t, time.Now().Add(w.ttl), m.expiry(key))
		}
	}
	require.NoError(t, lock.Unlock(t.Context()))
	synctest.Wait()
	for _, m := range c.masters {
		require.Equal(t, kept, slices.Sorted(maps.Keys(m.values())))
	}
}
