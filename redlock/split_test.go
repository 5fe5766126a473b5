package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// split has Lockers of as many processes ask at one instant, each the first at the nodes that it is near to, and returns their turns.
// The masters that are near to nobody are down.
func split(t *testing.T, near [][]int, canary int, opts ...Option) (*crew, <-chan turn) {
	t.Helper()
	c := &crew{cluster: primed(t, 5, opts...), t: t}
	used := make(map[int]bool)
	for _, nodes := range near {
		far := []int{0, 1, 2, 3, 4}
		for _, i := range nodes {
			far[i] = -1
			used[i] = true
		}
		var others []int
		for _, i := range far {
			if i >= 0 {
				others = append(others, i)
			}
		}
		c.lockers = append(c.lockers, c.farFrom(t, trip/4, others, opts...))
	}
	for i := range c.masters {
		w := way{out: trip / 2, back: trip / 2}
		if !used[i] {
			w.down = errRefused
		}
		c.masters[i].set(w)
	}
	key := c.keyAt(canary)
	turns := make(chan turn, len(near))
	for who, l := range c.lockers {
		go func() {
			lock, err := l.Lock(t.Context(), key)
			turns <- turn{who, lock, err, time.Now()}
		}()
	}
	return c, turns
}

// Of clients that split the nodes the one that the canary granted goes on at once, and none has to wait for chance.
func TestASplitVoteEndsWithTheCanarysChoice(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		near   [][]int
		canary int
		winner int
	}{
		"two of two":                     {[][]int{{0, 1}, {2, 3}}, 0, 0},
		"two of two, the other":          {[][]int{{0, 1}, {2, 3}}, 3, 1},
		"three":                          {[][]int{{0, 1}, {2, 3}, {4}}, 0, 0},
		"three, with the canary alone":   {[][]int{{0, 1}, {2, 3}, {4}}, 4, 2},
		"five, each with one":            {[][]int{{0}, {1}, {2}, {3}, {4}}, 2, 2},
		"two, one of whom has the most":  {[][]int{{0, 1, 2}, {3, 4}}, 4, 0},
		"three of three that are needed": {[][]int{{0}, {1}, {2}}, 1, 1},
	} {
		bubble(t, func(t *testing.T) {
			start := time.Now()
			c, turns := split(t, tt.near, tt.canary, unpolled()...)
			first := <-turns
			require.NoError(t, first.err)
			require.Equal(t, tt.winner, first.who, name)
			require.LessOrEqual(t, first.at.Sub(start), 6*trip, name)
			time.Sleep(time.Second)
			require.Empty(t, turns, "%s: the others wait", name)
			released := time.Now()
			require.NoError(t, first.lock.Unlock(t.Context()))
			for range len(tt.near) - 1 {
				got := c.mustHave(turns)
				require.LessOrEqual(t, got.at.Sub(released), 5*trip, name)
				released = time.Now()
			}
			for _, m := range c.masters {
				m.set(way{})
			}
			c.requireGone()
		})
	}
}

// The canary may be the last to answer: its word counts all the same.
func TestASplitVoteEndsWithTheChoiceOfACanaryThatIsFarAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		start := time.Now()
		c, turns := split(t, [][]int{{0, 1}, {2, 3}, {4}}, 4, unpolled()...)
		c.masters[4].set(way{out: 5 * trip, back: 5 * trip})
		first := <-turns
		require.NoError(t, first.err)
		require.Equal(t, 2, first.who)
		require.LessOrEqual(t, first.at.Sub(start), 15*trip)
		require.NoError(t, first.lock.Unlock(t.Context()))
		for range 2 {
			c.mustHave(turns)
		}
		c.requireGone()
	})
}

// Nobody asks more often than it takes: three times besides the first, and only whom the canary granted.
func TestALostRoundAsksAgainThreeTimesAtMost(t *testing.T) {
	t.Parallel()
	for _, canaryIsTaken := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, 1, WithBackoff(time.Second, time.Second), WithTTL(time.Minute))
			key := c.keyAt(0)
			for _, m := range c.masters[1:4] {
				m.hold(key, time.Hour)
			}
			if canaryIsTaken {
				c.masters[0].hold(key, time.Hour)
			}
			_, err := c.Lock(t.Context(), key, WithMaxAttempts(1))
			require.ErrorIs(t, err, ErrTaken)
			asked := map[bool]int{false: 3 * 3, true: 0}[canaryIsTaken]
			require.Equal(t, asked, c.sent("again"))
			c.requireGone()
		})
	}
}

func TestTryLockNeitherAsksAgainNorQueues(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCrew(t, 2)
		key := c.keyAt(0)
		for _, m := range c.masters[1:4] {
			m.hold(key, time.Hour)
		}
		for range 10 {
			_, err := c.TryLock(t.Context(), key)
			require.ErrorIs(t, err, ErrTaken)
		}
		_, err := c.Resume(t.Context(), key, "a token")
		require.ErrorIs(t, err, ErrLost)
		require.Zero(t, c.sent("again")+c.sent("queue")+c.sent("quit"))
		c.requireGone()
	})
}

// What the last attempt came to is what the nodes said last, those that were asked again included.
func TestTheLastAttemptsErrorCountsWhatWasAskedAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		taken, down, freed int // of the nodes besides the canary: somebody else's, down, and given back while it asks again
		class              error
		granted, refused   int
		unsent             int
	}{
		"taken all the time":     {taken: 3, class: ErrTaken, granted: 2, refused: 3},
		"one is freed":           {taken: 4, freed: 1, class: ErrTaken, granted: 2, refused: 3},
		"all but two are freed":  {taken: 4, freed: 2, granted: 3},
		"two taken and one down": {taken: 2, down: 1, granted: 2, refused: 2, unsent: 1, class: ErrNoQuorum},
		"one freed and one down": {taken: 3, down: 1, freed: 1, granted: 2, refused: 2, unsent: 1, class: ErrNoQuorum},
	} {
		bubble(t, func(t *testing.T) {
			var all []Attempt
			c := newCrew(t, 1, told(&all), WithTTL(time.Minute))
			key := c.keyAt(0)
			for i := 1; i <= tt.taken; i++ {
				c.masters[i].hold(key, time.Hour)
			}
			for i := 5 - tt.down; i < 5; i++ {
				c.masters[i].set(way{down: errRefused})
			}
			time.AfterFunc(2*trip, func() {
				for i := 1; i <= tt.freed; i++ {
					c.masters[i].put("del", key)
				}
			})
			lock, err := c.Lock(t.Context(), key, WithMaxAttempts(1))
			if tt.class == nil {
				require.NoError(t, err, name)
				require.Len(t, c.carriers(lock), tt.granted, name)
				require.NoError(t, lock.Unlock(t.Context()))
			} else {
				require.ErrorIs(t, err, tt.class, name)
				require.ErrorIs(t, err, ErrNotAcquired, name)
				e := quorumError(t, err)
				require.Equal(t, []int{tt.granted, tt.refused, tt.unsent}, []int{e.Granted, e.Refused, e.Unsent}, "%s: %v", name, err)
			}
			require.Len(t, all, 1)
			synctest.Wait()
			for _, m := range c.masters {
				m.set(way{})
			}
			time.Sleep(recovery)
			require.Empty(t, c.ours(), name)
		})
	}
}
