package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// restartEmpty is a restart without data of a master that is known at once to know the scripts.
func (m *master) restartEmpty() {
	m.forget()
	m.load()
}

// Whether an Extend succeeds depends on what the nodes carry and not on who answers first. Nothing of another's is touched, and
// what lacks the key has it again.
func TestExtendIsWonByTheNodesThatStillHaveTheLock(t *testing.T) {
	t.Parallel()
	for i := range 3 * 3 * 3 * 3 * 3 {
		nodes, count := make([]fate, 5), make(map[fate]int)
		for j, rest := 0, i; j < len(nodes); j, rest = j+1, rest/int(fates) {
			nodes[j] = fate(rest % int(fates))
			count[nodes[j]]++
		}
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			lock := c.mustHold(t, "k")
			for i, f := range nodes {
				if f != kept {
					c.masters[i].restartEmpty()
				}
				if f == stolen {
					c.masters[i].hold("k", time.Hour)
				}
			}
			c.staggered(time.Millisecond)
			time.Sleep(time.Second)
			err := lock.Extend(t.Context())
			time.Sleep(nodeTimeout)
			if count[kept] >= 3 {
				require.NoError(t, err, "%v", nodes)
				require.Len(t, c.carriers(lock), count[kept]+count[forgotten], "%v", nodes)
			} else {
				require.ErrorIs(t, err, ErrLost, "%v", nodes)
				require.NotErrorIs(t, err, ErrNoQuorum, "%v", nodes)
				require.ErrorIs(t, lock.Err(), ErrLost, "%v", nodes)
				require.Len(t, c.carriers(lock), count[kept], "%v: nothing is repaired", nodes)
			}
			for i, f := range nodes {
				require.Equal(t, f == stolen, c.masters[i].values()["k"] == foreign, "another's key is not touched")
			}
		})
	}
}

// F23: each node may lose everything, one after the other, as long as an Extend is won between.
func TestALockOutlivesARollingRestartOfAllNodesEmpty(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		for i := range 20 {
			c.masters[i%5].restartEmpty()
			time.Sleep(time.Second)
			require.NoError(t, lock.Extend(t.Context()), "restart %d", i)
			synctest.Wait()
			require.Len(t, c.carriers(lock), 5, "restart %d", i)
		}
		_, err := c.another(t).TryLock(t.Context(), "k")
		require.ErrorIs(t, err, ErrTaken)
	})
}

func TestTwoNodesMayForgetBetweenTwoExtendsAndThreeMayNot(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		for i := range 6 {
			c.masters[(2*i)%5].restartEmpty()
			c.masters[(2*i+1)%5].restartEmpty()
			for range 2 { // the second one makes voters of what the first one repaired
				require.NoError(t, lock.Extend(t.Context()), "pair %d", i)
				time.Sleep(time.Second)
			}
		}
		for _, m := range c.masters[1:4] {
			m.restartEmpty()
		}
		require.ErrorIs(t, lock.Extend(t.Context()), ErrLost)
	})
}

// A bare three must not forget, and what is repaired counts only once an Extend was won without it.
func TestARepairedNodeCountsFromTheExtendAfterNext(t *testing.T) {
	t.Parallel()
	for extends, want := range []error{ErrLost, ErrLost, nil} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			c.each(way{down: errRefused}, 3, 4)
			lock := c.mustHold(t, "k")
			c.each(way{}, 3, 4)
			time.Sleep(time.Second)
			for range extends {
				require.NoError(t, lock.Extend(t.Context()))
				time.Sleep(time.Second)
				require.Len(t, c.carriers(lock), 5)
			}
			c.masters[0].restartEmpty()
			require.ErrorIs(t, lock.Extend(t.Context()), want, "after %d", extends)
		})
	}
}

// Design 4.7: A has 1-3, its SETs to 4 and 5 are delayed beyond the timeout; 3 restarts empty, B holds and releases 3-5; the
// stragglers land. Four nodes carry A's key then, and A was not alone.
func TestStragglersThatLandAfterAnotherHolderProveNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		for _, m := range c.masters[3:] {
			m.set(way{out: 500 * time.Millisecond})
		}
		lock := c.mustHold(t, "k")
		time.Sleep(nodeTimeout)
		c.each(way{}, 3, 4)
		c.masters[2].restartEmpty()
		b := c.another(t)
		theirs, err := b.TryLock(t.Context(), "k")
		require.NoError(t, err)
		require.NoError(t, theirs.Unlock(t.Context()))
		time.Sleep(time.Second)
		require.Len(t, c.carriers(lock), 4)
		err = lock.Extend(t.Context())
		require.ErrorIs(t, err, ErrLost)
		// Proven at the latest when both voters that are left have answered, and it may be before the second does.
		require.LessOrEqual(t, quorumError(t, err).Granted, 2, "those two are no voters")
		time.Sleep(nodeTimeout)
		require.ErrorIs(t, lock.Err(), ErrLost)
	})
}

// A SET whose reply was lost may yet make a key that the node had lost.
func TestANodeWithASETOfUnknownFateIsNoVoterForOneTTL(t *testing.T) {
	t.Parallel()
	for _, extends := range []int{2, 10, 11} {
		bubble(t, func(t *testing.T) {
			c := primed(t, 5)
			c.each(way{drop: true}, 3, 4)
			lock := c.mustHold(t, "k")
			time.Sleep(nodeTimeout)
			c.each(way{}, 3, 4)
			require.Len(t, c.carriers(lock), 5)
			time.Sleep(time.Second)
			var heard time.Time
			for i := range extends {
				if i == 0 {
					heard = time.Now()
				}
				require.NoError(t, lock.Extend(t.Context()))
				time.Sleep(ttl / 8)
			}
			settled := time.Since(heard) >= ttl+ttl/8 // and one Extend more
			c.masters[0].restartEmpty()
			err := lock.Extend(t.Context())
			if settled {
				require.NoError(t, err, "%d extends", extends)
			} else {
				require.ErrorIs(t, err, ErrLost, "%d extends", extends)
			}
		})
	}
}

// Loss is proven exactly when a majority of ours has become impossible: not by silence, and not later than that.
func TestLossIsProvenExactlyWhenNoMajorityOfOursCanBeLeft(t *testing.T) {
	t.Parallel()
	for gone := range 6 {
		for silent := range 6 - gone {
			bubble(t, func(t *testing.T) {
				c := primed(t, 5)
				lock := c.mustHold(t, "k")
				for i, m := range c.masters {
					switch {
					case i < gone:
						m.restartEmpty()
					case i < gone+silent:
						m.stop()
					}
				}
				err := lock.Extend(t.Context())
				switch {
				case gone > 2:
					require.ErrorIs(t, err, ErrLost)
					require.ErrorIs(t, lock.Err(), ErrLost)
				case gone+silent > 2:
					require.ErrorIs(t, err, ErrNoQuorum)
					require.NoError(t, lock.Err())
				default:
					require.NoError(t, err)
				}
				for _, m := range c.masters {
					m.resume()
				}
				time.Sleep(nodeTimeout)
			})
		}
	}
}

func TestALostRoundRepairsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		c.masters[0].restartEmpty()
		c.each(way{down: errRefused}, 1, 2)
		require.ErrorIs(t, lock.Extend(t.Context()), ErrNoQuorum)
		time.Sleep(time.Second)
		require.Zero(t, c.sent("repair"))
		require.Empty(t, c.masters[0].values())
		c.each(way{}, 1, 2)
		require.NoError(t, lock.Extend(t.Context()))
		synctest.Wait()
		require.Len(t, c.carriers(lock), 5)
	})
}

// The node that lost its key is often the last to answer: by then the caller has gone.
func TestANodeThatAnswersAfterTheMajorityIsRepairedToo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		lock := c.mustHold(t, "k")
		c.masters[4].restartEmpty()
		c.each(way{back: 50 * time.Millisecond}, 4)
		require.Zero(t, took(func() { require.NoError(t, lock.Extend(t.Context())) }))
		time.Sleep(nodeTimeout)
		require.Len(t, c.carriers(lock), 5)
	})
}

// A contender's key on a minority is somebody's failing attempt.
func TestAForeignKeyOnAMinorityLosesNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var told recorded
		c := primed(t, 5, WithHooks(told.hooks()))
		lock := c.mustHold(t, "k")
		for _, m := range c.masters[:2] {
			m.restartEmpty()
			m.hold("k", 3*time.Second)
		}
		for range 5 {
			require.NoError(t, lock.Extend(t.Context()))
			time.Sleep(time.Second)
		}
		require.Len(t, c.carriers(lock), 5, "when it has gone ours is set again")
		require.Empty(t, of[Loss](&told))
		require.NotEmpty(t, of[Jeopardy](&told))
	})
}

// A clock that was put forward ends keys early, so the node's word does not count until the key was armed anew.
func TestALifeThatJumpedIsNoVoteAndIsTold(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3} {
		bubble(t, func(t *testing.T) {
			var told recorded
			c := primed(t, 5, WithHooks(told.hooks()))
			time.Sleep(time.Second)
			lock := c.mustHold(t, "k")
			time.Sleep(time.Second)
			for _, m := range c.masters[:n] {
				m.store.SetOffset(5 * time.Second)
			}
			c.staggered(time.Millisecond)
			until := lock.Until()
			err := lock.Extend(t.Context())
			jeopardy := of[Jeopardy](&told)
			require.Len(t, jeopardy, 1)
			require.ErrorContains(t, jeopardy[0].Err, errStepped.Error())
			require.Equal(t, n < 3, err == nil)
			if n == 3 {
				require.ErrorIs(t, err, ErrNoQuorum)
				require.Equal(t, until, lock.Until())
			}
			time.Sleep(time.Second)
			require.NoError(t, lock.Extend(t.Context()), "armed anew it counts again")
			require.Len(t, of[Jeopardy](&told), 1)
		})
	}
}

// What a slow round trip and the clocks' drift take from a life is no jump.
func TestALifeThatIsALittleShorterThanExpectedIsAVote(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := primed(t, 5)
		time.Sleep(time.Second)
		lock := c.mustHold(t, "k")
		for _, m := range c.masters {
			m.store.SetOffset(drift + ttl/10 - time.Millisecond)
		}
		require.NoError(t, lock.Extend(t.Context()))
		for _, m := range c.masters {
			m.store.SetOffset(2*(drift+ttl/10) + time.Millisecond)
		}
		require.ErrorIs(t, lock.Extend(t.Context()), ErrNoQuorum)
	})
}
