package store

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAListIsWhatWasPushedAtItsEnds(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.Equal(t, int64(2), s.do("RPUSH", "l", "c", "d"))
	require.Equal(t, int64(4), s.do("LPUSH", "l", "b", "a"), "one after the other")
	require.Equal(t, []string{"a", "b", "c", "d"}, s.List(s.now, "l"))
	require.Equal(t, int64(4), s.do("LLEN", "l"))
	require.Equal(t, int64(0), s.do("LLEN", "none"))
	require.Equal(t, "a", s.do("LPOP", "l"))
	require.Equal(t, "b", s.do("LPOP", "l"))
	require.Equal(t, int64(2), s.do("LLEN", "l"))
	require.Nil(t, s.do("LPOP", "none"))
	for _, command := range []string{"LPOP", "LLEN"} {
		require.Contains(t, s.refused(command, "l", "1"), "wrong number of arguments")
	}
	require.Contains(t, s.refused("RPUSH", "l"), "wrong number of arguments")
}

func TestAListThatIsEmptyIsNone(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, last := range [][]any{{"LPOP", "l"}, {"LREM", "l", 0, "a"}, {"DEL", "l"}, {"PEXPIRE", "l", 0}} {
		s.do("RPUSH", "l", "a")
		require.Equal(t, int64(1), s.do("EXISTS", "l"))
		s.do(last...)
		require.Equal(t, int64(0), s.do("EXISTS", "l"), "%v", last)
		require.Equal(t, int64(-2), s.do("PTTL", "l"))
	}
	require.Equal(t, int64(0), s.do("LREM", "l", 0, "a"), "and none is made")
	require.Equal(t, int64(0), s.do("EXISTS", "l"))
}

func TestAListHasALifeLikeAnyKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.do("RPUSH", "l", "a")
	require.Equal(t, int64(-1), s.do("PTTL", "l"))
	require.Equal(t, int64(1), s.do("PEXPIRE", "l", 1000))
	s.do("RPUSH", "l", "b")
	s.do("LPUSH", "l", "c")
	s.do("LPOP", "l")
	s.do("LREM", "l", 1, "a")
	require.Equal(t, int64(1000), s.do("PTTL", "l"), "which what is done to its elements does not change")
	s.now = start.Add(time.Second)
	require.Nil(t, s.List(s.now, "l"))
	require.Empty(t, s.Lists(s.now))
	require.Equal(t, int64(0), s.do("LLEN", "l"))
	require.Equal(t, int64(1), s.do("RPUSH", "l", "d"))
	require.Equal(t, []string{"l"}, s.Lists(s.now))
	require.Equal(t, int64(-1), s.do("PTTL", "l"), "it is another one")
}

func TestLremRemovesSoManyFromTheEndThatItIsTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		count   any
		removed int64
		left    []any
	}{
		{0, 3, []any{"b", "c"}},
		{1, 1, []any{"b", "a", "c", "a"}},
		{2, 2, []any{"b", "c", "a"}},
		{9, 3, []any{"b", "c"}},
		{-1, 1, []any{"a", "b", "a", "c"}},
		{-2, 2, []any{"a", "b", "c"}},
		{int64(math.MinInt64), 3, []any{"b", "c"}},
	} {
		s := open(t)
		s.do("RPUSH", "l", "a", "b", "a", "c", "a")
		require.Equal(t, tt.removed, s.do("LREM", "l", tt.count, "a"))
		require.Equal(t, tt.left, s.do("LRANGE", "l", 0, -1), "%v", tt.count)
	}
	require.Contains(t, open(t).refused("LREM", "l", "many", "a"), "not an integer")
}

func TestLrangeCutsWhatIsOutsideTheList(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.do("RPUSH", "l", "a", "b", "c")
	for _, tt := range []struct {
		from, to any
		want     []any
	}{
		{0, -1, []any{"a", "b", "c"}},
		{0, 0, []any{"a"}},
		{1, 9, []any{"b", "c"}},
		{-2, -1, []any{"b", "c"}},
		{-9, 1, []any{"a", "b"}},
		{2, 1, []any{}},
		{3, 9, []any{}},
		{0, -9, []any{}},
		{int64(math.MinInt64), int64(math.MaxInt64), []any{"a", "b", "c"}},
	} {
		require.Equal(t, tt.want, s.do("LRANGE", "l", tt.from, tt.to), "%v %v", tt.from, tt.to)
	}
	require.Equal(t, []any{}, s.do("LRANGE", "none", 0, -1))
	require.Contains(t, s.refused("LRANGE", "l", "x", 0), "not an integer")
	require.Contains(t, s.refused("LRANGE", "l", 0, "1.5"), "not an integer")
}

func TestAListAndAStringAreOfDifferentTypes(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.do("SET", "k", "v")
	for _, args := range [][]any{{"LPUSH", "k", "a"}, {"RPUSH", "k", "a"}, {"LPOP", "k"}, {"LREM", "k", 0, "a"}, {"LRANGE", "k", 0, -1}, {"LLEN", "k"}} {
		require.Contains(t, s.refused(args...), "WRONGTYPE", "%v", args)
	}
	require.Equal(t, "v", s.do("GET", "k"))
	require.Nil(t, s.List(s.now, "k"))
}

func TestACloneKeepsItsListsWhateverBecomesOfTheOthers(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.do("RPUSH", "l", "a", "b", "c")
	s.do("LPOP", "l")
	twin := &session{Store: s.Clone(), t: t, now: start}
	s.do("RPUSH", "l", "d")
	twin.do("RPUSH", "l", "e")
	s.do("LREM", "l", 0, "b")
	twin.do("LPUSH", "l", "f")
	require.Equal(t, []string{"c", "d"}, s.List(s.now, "l"))
	require.Equal(t, []string{"f", "b", "c", "e"}, twin.List(s.now, "l"))
}

func TestWhoSubscribesHearsWhatIsPublished(t *testing.T) {
	t.Parallel()
	s := open(t)
	var first, second []string
	require.Equal(t, int64(0), s.do("PUBLISH", "c", "before"))
	cancel := s.Subscribe("c", func(payload string) { first = append(first, payload) })
	s.Subscribe("c", func(payload string) { second = append(second, payload) })
	s.Subscribe("other", func(string) { t.Error("another channel") })
	require.Equal(t, int64(2), s.do("PUBLISH", "c", "1"))
	require.Equal(t, int64(2), s.do("EVAL", "return redis.call('PUBLISH', KEYS[1], ARGV[1])", 1, "c", "2"))
	twin := &session{Store: s.Clone(), t: t, now: start}
	require.Equal(t, int64(0), twin.do("PUBLISH", "c", "to nobody"))
	cancel()
	cancel()
	require.Equal(t, int64(1), s.do("PUBLISH", "c", "3"))
	require.Equal(t, []string{"1", "2"}, first)
	require.Equal(t, []string{"1", "2", "3"}, second)
	require.Equal(t, 2, s.Subscribers())
}

func TestARestartEndsEverySubscription(t *testing.T) {
	t.Parallel()
	for _, restart := range []func(*Store){(*Store).Forget, (*Store).ForgetScripts} {
		s := open(t)
		cancel := s.Subscribe("c", func(string) { t.Error("it was heard") })
		restart(s.Store)
		require.Equal(t, int64(0), s.do("PUBLISH", "c", "1"))
		heard := 0
		s.Subscribe("c", func(string) { heard++ })
		cancel() // of one that is no more
		require.Equal(t, int64(1), s.do("PUBLISH", "c", "1"))
		require.Equal(t, 1, heard)
	}
}
