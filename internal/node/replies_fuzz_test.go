package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// stage is one node that grants, or refuses, and from some moment on says what is spelled.
type stage struct {
	*rig
	keys   []string
	grants bool
	speaks bool
}

func (s *stage) answer(c *Command, spelled reply) reply {
	switch {
	case s.speaks:
		return spelled
	case c.Name() == "set" && s.grants:
		return granted
	case c.Name() == "set":
		return refused
	case s.grants && len(c.args) > 4 && strings.HasPrefix(fmt.Sprint(c.args[3+len(s.keys)]), "~f:"):
		return value([]any{int64(1), int64(1), int64(1), int64(0)})
	case s.grants:
		return yes
	}
	return no
}

func (s *stage) speak() *stage {
	s.speaks = true
	return s
}

// asks submits an attempt whose answer is the spelled one.
func (s *stage) asks(b *bid) *bid {
	s.speak().askFor(b, patience)
	return b
}

// has is an attempt on all the keys that the node has answered; from then on it speaks.
func (s *stage) has(grants bool) *bid { return s.answered(s.bidOn("1", s.keys...), grants) }

func (s *stage) answered(b *bid, grants bool) *bid {
	s.t.Helper()
	s.grants = grants
	s.askFor(b, patience)
	want := quorum.Refused
	if grants {
		want = quorum.Granted
	}
	b.requireVote(0, want, nil)
	s.speak()
	return b
}

// voted is what was heard of an attempt in a word, "" for nothing that counts.
func (b *bid) voted() string {
	switch v := b.vote(0); {
	case v.Vote == quorum.Granted && b.Fencing != nil:
		return "granted" + stampOf(b)
	case v.Vote == quorum.Granted:
		return "granted"
	case v.Vote == quorum.Refused:
		return fmt.Sprint("refused by ", b.Blockers[0])
	}
	return ""
}

func stampOf(b *bid) string {
	s := b.Fencing.Stamps[0]
	seeded := 0
	if s.Seeded {
		seeded = 1
	}
	return fmt.Sprint(" ", s.Counter, " ", s.Time, " ", seeded)
}

// blocked lets the attempt note which key refused.
func (b *bid) blocked() *bid {
	b.Blockers = new([quorum.MaxNodes]uint8)
	return b
}

// given is what was heard of a release.
func (b *bid) given() string {
	a := b.answer(0, 1)
	if a.Answer == quorum.NoAnswer {
		require.Error(b.r.t, a.cause)
		require.True(b.r.t, a.mayHold)
		return ""
	}
	require.False(b.r.t, a.mayHold)
	return a.String()
}

// confirmed is what was heard of a question.
func (h *hearing) confirmed() string {
	switch r := h.reply(0); {
	case r.Confirmation == quorum.Confirmed:
		return "confirmed"
	case r.Confirmation == quorum.Gone && r.Foreign:
		return "foreign"
	case r.Confirmation == quorum.Gone:
		return "gone"
	default:
		require.Error(h.t, r.Err)
		return ""
	}
}

// questions are all that a node is asked, with the shapes in which an answer counts, and the word for what it then comes to.
// They are written from the heads of the scripts, and say nothing of how an answer is read. {n} is the number of keys.
var questions = []struct {
	name   string
	ask    func(s *stage) string
	shapes [][2]string
}{
	{"set", func(s *stage) string { return s.asks(s.bid("k", "1", ttl).blocked()).voted() }, [][2]string{{`"OK"`, "granted"}, {`null`, "refused by 0"}}},
	{"acquire", func(s *stage) string { return s.asks(s.bidOn("1", append(s.keys, "z")...).blocked()).voted() }, [][2]string{
		{`1`, "granted"}, {`0`, "refused by 0"}, {`-([1-{n}]|{n+1})`, "refused by $1"},
	}},
	{"acquire fenced", func(s *stage) string { return s.asks(s.fencedBid("1", s.keys...).blocked()).voted() }, [][2]string{
		{`\[1 ([1-9]\d*) (-?\d+) ([01])\]`, "granted $1 $2 $3"}, {`0`, "refused by 0"}, {`-([1-{n}])`, "refused by $1"},
	}},
	{"resume", func(s *stage) string { return s.asks(taking(s.bidOn("1", s.keys...))).voted() }, [][2]string{{`1`, "granted"}, {`0`, "refused by 0"}}},
	{"resume fenced", func(s *stage) string { return s.asks(taking(s.fencedBid("1", s.keys...))).voted() }, [][2]string{
		{`\[1 ([1-9]\d*) (-?\d+) ([01])\]`, "granted $1 $2 $3"}, {`0`, "refused by 0"},
	}},
	{"release", func(s *stage) string { return s.endsBy(Delete) }, released},
	{"restore", func(s *stage) string { return s.endsBy(Restore) }, released},
	{"leave", func(s *stage) string { return s.endsBy(Leave) }, released},
	{"hand", func(s *stage) string {
		b := s.has(true)
		h := b.handOver(false, patience, "~q:k")
		word := b.given()
		require.Len(s.t, h.told, 1)
		return word
	}, append([][2]string{{`\[1 .+\]`, "deleted"}, {`\[0 .+\]`, "absent"}, {`\[-1 .+\]`, "foreign"}}, released...)},
	{"extend", func(s *stage) string {
		h := s.has(true).extend()
		require.LessOrEqual(s.t, h.reply(0).Short, ttl, "no life that a node tells of is less than none")
		return h.confirmed()
	}, [][2]string{{`\[1 \d+\]`, "confirmed"}, {`\[0\]`, "gone"}, {`\[-1\]`, "foreign"}}},
	{"raise", func(s *stage) string { return s.answered(s.fencedBid("1", s.keys...), true).raise(7).confirmed() }, [][2]string{
		{`1`, "confirmed"}, {`0`, "gone"}, {`-1`, "foreign"},
	}},
	{"repair", func(s *stage) string { return s.has(true).repair().confirmed() }, [][2]string{{`1`, "confirmed"}, {`0`, "foreign"}}},
	{"again", func(s *stage) string { return s.has(false).askAgain().confirmed() }, [][2]string{{`1`, "confirmed"}, {`0|-[1-{n}]`, "foreign"}}},
	{"again fenced", func(s *stage) string {
		b := s.answered(s.fencedBid("1", s.keys...), false)
		if word := b.askAgain().confirmed(); word != "confirmed" {
			return word
		}
		return "confirmed" + stampOf(b)
	}, [][2]string{{`\[1 ([1-9]\d*) (-?\d+) ([01])\]`, "confirmed $1 $2 $3"}, {`0|-[1-{n}]`, "foreign"}}},
	{"inspect", func(s *stage) string {
		h, now := s.speak().hearing(), s.clock.Now()
		s.Inspect("k", "~f:k", "~q:k", h, now, now+patience)
		word, life := h.confirmed(), h.reply(0).Holding.Life
		switch {
		case word == "":
			return ""
		case life < 0:
			return "confirmed without an end"
		case life >= 3e11*ms:
			return "confirmed for years"
		}
		return fmt.Sprint("confirmed ", life.Milliseconds())
	}, [][2]string{
		{`\[(?:null|{text}) -\d+ {any} {any}\]`, "confirmed without an end"},
		{`\[(?:null|{text}) (\d{1,11}|[12]\d{11}) {any} {any}\]`, "confirmed $1"},
		{`\[(?:null|{text}) \d+ {any} {any}\]`, "confirmed for years"}, // whatever number that was
	}},
	{"look", func(s *stage) string {
		h, now := s.speak().hearing(), s.clock.Now()
		s.Look("k", h, now, now+patience)
		return fmt.Sprint(h.confirmed(), " free ", h.reply(0).Free)
	}, [][2]string{{`-2`, "confirmed free true"}, {`-1|\d+`, "confirmed free false"}, {`(?s).*`, " free false"}}},
	{"queue", func(s *stage) string { return toldOfAQueue(s.speak().enqueue(false, false)) }, queued},
	{"quit", func(s *stage) string { return toldOfAQueue(s.speak().quit(true)) }, queued},
	{"quit without a script", func(s *stage) string { return toldOfAQueue(s.speak().quit(false)) }, queued},
}

var (
	released = [][2]string{{`1`, "deleted"}, {`0`, "absent"}, {`-1`, "foreign"}}
	queued   = [][2]string{{`\[.*\]`, "told"}} // of any shape, and never for a confirmation
)

func taking(b *bid) *bid {
	b.From = "0"
	return b.blocked()
}

func (s *stage) endsBy(end Ending) string {
	b := s.bidOn("1", s.keys...)
	if end == Restore {
		b.From = "0"
	}
	b = s.answered(b, true)
	b.End, b.Until = end, s.clock.Now()+time.Second
	b.giveUp(false, patience)
	return b.given()
}

func toldOfAQueue(h *hearing) string {
	r := h.reply(0)
	require.Equal(h.t, quorum.Unconfirmed, r.Confirmation)
	if r.Queue == nil {
		return ""
	}
	require.NoError(h.t, r.Err)
	return "told"
}

// FuzzReplies puts each question to a node that answers with any value that a client can make of a reply. Nothing panics, and the
// answer counts for what its shape says, and for nothing where it has none of those that are written down for the question.
func FuzzReplies(f *testing.F) {
	f.Fuzz(func(t *testing.T, which, keys uint8, text string) {
		q := questions[int(which)%len(questions)]
		s := &stage{keys: []string{"a", "b", "c"}[:1+keys%3]}
		spelled, said := spell(text)
		node := each(func(c *Command) reply { return s.answer(c, spelled) })
		bubble(t, 0, func(t *testing.T, r *rig) {
			s.rig = r
			r.wait(ms) // so that no time is zero, which says "never" of a grant
			require.Equal(t, means(q.shapes, said, len(s.keys)), q.ask(s), "%s of %d keys, answered with %s", q.name, len(s.keys), said)
		}, node)
	})
}
