package node

import (
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// listening is a waiter that hears when it is named.
type listening struct {
	*site
	channel string
	sub     *redis.PubSub
}

func (s *site) listen(id string) *listening {
	s.t.Helper()
	l := &listening{site: s, channel: s.prefix + "~w:" + id}
	l.sub = s.client.Subscribe(s.t.Context(), l.channel)
	s.t.Cleanup(func() { require.NoError(s.t, l.sub.Close()) })
	_, err := l.sub.Receive(s.t.Context())
	require.NoError(s.t, err)
	return l
}

func (l *listening) next() string {
	l.t.Helper()
	got, err := l.sub.ReceiveTimeout(l.t.Context(), timeLimit)
	require.NoError(l.t, err)
	message, ok := got.(*redis.Message)
	require.True(l.t, ok, "%v", got)
	return message.Payload
}

// requireNamed requires that it is told of a key's queue, and of nothing besides.
func (l *listening) requireNamed(key string) {
	l.t.Helper()
	require.Equal(l.t, l.prefix+"~q:"+key, l.next())
	l.requireNothing()
}

// requireNothing requires that nothing was told so far.
func (l *listening) requireNothing() {
	l.t.Helper()
	require.NoError(l.t, l.client.Publish(l.t.Context(), l.channel, "the end").Err())
	require.Equal(l.t, "the end", l.next())
}

// waitsAt puts these, in this order, into the queue of a key.
func (s *site) waitsAt(key string, ids ...any) {
	s.t.Helper()
	require.NoError(s.t, s.client.RPush(s.t.Context(), s.prefix+"~q:"+key, ids...).Err())
}

// requireQueue requires that just these are in the queue of a key.
func (s *site) requireQueue(key string, want ...string) {
	s.t.Helper()
	got, err := s.client.LRange(s.t.Context(), s.prefix+"~q:"+key, 0, -1).Result()
	require.NoError(s.t, err)
	require.Equal(s.t, append([]string{}, want...), got)
}

// hand gives the attempt up and names the next in the queues of these keys.
func (s *site) hand(a *Attempt, keys ...string) (answer quorum.Answer, told []any, err error) {
	s.t.Helper()
	h := &Hand{Channels: s.prefix + "~w:", Heard: func(answer []any) { told = answer }}
	for _, key := range keys {
		h.Lists = append(h.Lists, s.prefix+"~q:"+key)
	}
	o := s.do(&op{kind: kindRelease, claim: &a.claims[0], hand: h}, h.args(a))
	answer, err = o.releaseAnswer(false)
	h.tell(o)
	return answer, told, err
}

// queue is the answer to entering the queue of a key.
func (s *site) queue(key, id string, front, always bool) []any {
	s.t.Helper()
	args := queueScript.args([]any{s.prefix + key}, s.prefix+"~q:"+key, id, digit(front), digit(always))
	got := s.ask(s.attempt("", key), askQueue, args)
	require.NoError(s.t, got.Err)
	return got.Queue
}

// quit is the answer to leaving it without having been served.
func (s *site) quit(key, id string) []any {
	s.t.Helper()
	got := s.ask(s.attempt("", key), askQueue, quitScript.args([]any{s.prefix + key}, id, "", s.prefix+"~w:", s.prefix+"~q:"+key))
	require.NoError(s.t, got.Err)
	return got.Queue
}

// askAgain is what became of the attempt's question to who may have its keys already.
func (s *site) askAgain(a *Attempt) (state, quorum.Vote, int, error) {
	s.t.Helper()
	o := s.do(&op{kind: kindRepair, claim: &a.claims[0], ask: &ask{question: askAgain}}, a.againArgs())
	state, vote, err := o.setAnswer()
	return state, vote, o.refusal(o.Val()), err
}

// requireSpot requires this place, this count, and about this life of who has the lock; negative ones exactly.
func (s *site) requireSpot(got []any, place, count int64, life time.Duration) {
	s.t.Helper()
	require.Len(s.t, got, 5)
	require.Equal(s.t, []any{int64(1), place, count}, got[:3])
	if life < 0 {
		require.EqualValues(s.t, life, got[3])
		return
	}
	require.LessOrEqual(s.t, got[3], life.Milliseconds())
	require.Greater(s.t, got[3], (life - 10*time.Second).Milliseconds())
}
