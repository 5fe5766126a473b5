package redlock

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// carried are the masters' keys, one line a master.
func (c *cluster) carried() (all []string) {
	for _, m := range c.masters {
		values := m.values()
		var keys []string
		for _, key := range []string{"a", "b", "c", "d"} {
			switch value := values[key]; {
			case value == foreign:
				keys = append(keys, key+" foreign")
			case value != "":
				keys = append(keys, key)
			}
		}
		all = append(all, strings.Join(keys, ","))
	}
	return all
}

func same(text string, n int) (all []string) {
	for range n {
		all = append(all, text)
	}
	return all
}

func TestALockOnSeveralKeysHasThemAllInOneRoundTrip(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		c.staggered(10 * time.Millisecond)
		var lock *Lock
		require.Equal(t, 30*time.Millisecond, took(func() { lock = c.mustTryLock(t, "c", WithKeys("b", "a", "b", "c")) }))
		time.Sleep(nodeTimeout)
		require.Equal(t, "c", lock.Key())
		require.Equal(t, same("a,b,c", 5), c.carried())
		require.Equal(t, []any{"a", "b", "c"}, c.masters[0].requests("acquire")[0].args[3:6], "sorted, and each once")
		for _, key := range []string{"a", "b", "c"} {
			_, err := c.TryLock(t.Context(), key)
			require.ErrorIs(t, err, ErrTaken)
		}
		time.Sleep(3 * time.Second)
		called := time.Now()
		require.NoError(t, lock.Extend(t.Context()))
		time.Sleep(nodeTimeout)
		for _, m := range c.masters {
			for _, key := range []string{"a", "b", "c"} {
				require.Equal(t, called.Add(ttl), m.expiry(key))
			}
		}
		require.NoError(t, lock.Unlock(t.Context()))
		time.Sleep(nodeTimeout)
		require.Equal(t, same("", 5), c.carried())
	})
}

func TestSeveralKeysAreHadAllOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, taken := range []string{"a", "b", "c"} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			for _, m := range c.masters[:3] {
				m.hold(taken, time.Minute)
			}
			_, err := c.TryLock(t.Context(), "a", WithKeys("b", "c"))
			require.ErrorIs(t, err, ErrTaken)
			time.Sleep(nodeTimeout)
			require.Equal(t, append(same(taken+" foreign", 3), "", ""), c.carried(), "never a part is left behind")
		})
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			c.masters[0].hold(taken, time.Minute)
			lock := c.mustHold(t, "a", WithKeys("b", "c"))
			require.Equal(t, append([]string{taken + " foreign"}, same("a,b,c", 4)...), c.carried())
			require.NoError(t, lock.Unlock(t.Context()))
			synctest.Wait()
			require.Equal(t, append([]string{taken + " foreign"}, same("", 4)...), c.carried())
		})
	}
}

// A node that lost one of several keys has lost the lock, and is repaired as a whole.
func TestANodeThatLostOneOfSeveralKeysHasLostThemAll(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithKeys("b", "c"))
		lock := c.mustHold(t, "a")
		c.masters[0].put("del", "b")
		c.masters[1].put("del", "c")
		require.NoError(t, lock.Extend(t.Context()))
		synctest.Wait()
		require.Equal(t, same("a,b,c", 5), c.carried())
		require.Equal(t, 2, c.sent("repair"))
		require.NoError(t, lock.Extend(t.Context()))
		for _, m := range c.masters[2:] {
			m.put("del", "b")
		}
		require.ErrorIs(t, lock.Extend(t.Context()), ErrLost)
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost)
		synctest.Wait()
		require.Equal(t, same("", 5), c.carried())
	})
}

func TestWhatIsAnothersAmongSeveralKeysStaysAndOursGoes(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithKeys("b", "c"))
		lock := c.mustHold(t, "a")
		for _, m := range c.masters {
			m.hold("b", time.Minute)
		}
		ends := c.masters[0].expiry("b")
		err := lock.Extend(t.Context())
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, err, ErrTaken)
		require.ErrorIs(t, lock.Unlock(t.Context()), ErrLost)
		synctest.Wait()
		require.Equal(t, same("b foreign", 5), c.carried())
		require.Equal(t, ends, c.masters[0].expiry("b"))
	})
}

func TestSeveralKeysAreLeftForTheSameRest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithKeys("b"))
		lock := c.mustHold(t, "a")
		require.NoError(t, lock.Leave(t.Context(), time.Minute))
		synctest.Wait()
		for _, key := range []string{"a", "b"} {
			require.Equal(t, time.Now().Add(time.Minute), c.masters[4].expiry(key))
		}
	})
}

// One number for all of them, larger than what each has given out.
func TestSeveralKeysShareOneFence(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5, WithFencing())
		for _, m := range c.masters {
			m.put("set", counterTag+"b", int64(5e15))
		}
		lock := c.mustHold(t, "a", WithKeys("b", "c"))
		require.Equal(t, int64(5e15)+1, lock.Fence())
		require.Zero(t, c.sent("raise"))
		for _, key := range []string{"a", "b", "c"} {
			require.Equal(t, lock.Fence(), c.counters(key)[0])
		}
		require.NoError(t, lock.Unlock(t.Context()))
		synctest.Wait()
		require.Equal(t, lock.Fence()+1, c.mustTryLock(t, "c").Fence(), "and each goes on from there")
	})
}

func TestClientsThatLockOverlappingSetsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 3, WithBackoff(time.Millisecond, 9*time.Millisecond))
		c.staggered(time.Millisecond)
		inside := map[string]*int{"a": new(int), "b": new(int), "c": new(int), "d": new(int)} // each guarded by its key
		var all sync.WaitGroup
		for i, keys := range [][]string{{"a", "b"}, {"b", "a"}, {"b", "c", "d"}, {"d", "a"}, {"c"}} {
			l := c.another(t, WithBackoff(time.Millisecond, time.Duration(5+i)*time.Millisecond))
			all.Go(func() {
				for range 20 {
					lock, err := l.Lock(t.Context(), keys[0], WithKeys(keys[1:]...))
					if err != nil {
						t.Error(err)
						return
					}
					for _, key := range keys {
						if *inside[key]++; *inside[key] != 1 {
							t.Errorf("two have %s", key)
						}
					}
					time.Sleep(time.Millisecond)
					for _, key := range keys {
						*inside[key]--
					}
					check(t, lock.Unlock(t.Context()), nil)
				}
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		require.Equal(t, same("", 3), c.carried())
	})
}

func TestBadKeysAmongSeveralAreInvalidBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3)
		many := func(n int) (keys []string) {
			for i := range n {
				keys = append(keys, fmt.Sprint("key", i))
			}
			return keys
		}
		for _, tt := range []struct {
			keys     []string
			relation string
		}{
			{[]string{"b", ""}, "key is empty"},
			{[]string{"a~q:"}, `contains "~q:"`},
			{[]string{strings.Repeat("k", 64<<10+1)}, "is longer than 65536"},
			{many(64), "65 keys are more than 64"},
		} {
			_, err := c.TryLock(t.Context(), "a", WithKeys(tt.keys...))
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, tt.relation)
			_, err = c.With(WithKeys(tt.keys...)).Lock(t.Context(), "a")
			require.ErrorIs(t, err, ErrInvalid)
		}
		require.Zero(t, c.sent(""))
		keys := many(63)
		lock := c.mustHold(t, "a", WithKeys(append(keys, keys...)...))
		keys[0] = "changed later"
		require.Len(t, c.ours(), 3*64, "64 are not too many, and doubles count once")
		require.NoError(t, lock.Unlock(t.Context()))
	})
}
