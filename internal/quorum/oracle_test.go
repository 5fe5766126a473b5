package quorum_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// majority is the definition: the least number of nodes such that any two sets
// of that many share one.
func majority[T int | int8](n T) T {
	for q := T(1); ; q++ {
		if q > n-q {
			return q
		}
	}
}

// veto is the definition: the least number of nodes that can be taken away so
// that no majority is left.
func veto[T int | int8](n T) T {
	for k := T(1); ; k++ {
		if n-k < majority(n) {
			return k
		}
	}
}

func TestMajorities(t *testing.T) {
	t.Parallel()
	for n, want := range []int{1, 1, 2, 2, 3, 3, 4, 4} {
		require.Equal(t, want, quorum.Size(n), "nodes %d", n)
	}
	for n := 1; n <= quorum.MaxNodes; n++ {
		require.Equal(t, majority(n), quorum.Size(n), "nodes %d", n)
	}
}

// ends is a set of ways a history can end, one bit each.
type ends uint16

// only returns the single element of a set, and whether there is just one.
func (e ends) only() (int, bool) {
	i := 0
	for e>>i != 1 {
		if e>>i&1 == 1 {
			return 0, false
		}
		i++
	}
	return i, true
}

// roundPast is what has happened in a round, as far as the definition of its end
// looks at it: nodes are alike, and so are votes that are neither granted nor
// refused.
type roundPast struct {
	nodes, granted, refused, missing int8
	expired                          bool
	inTime                           bool // a majority granted before the round expired
}

// with returns the past after one more vote.
func (p roundPast) with(v quorum.Vote) roundPast {
	switch v {
	case quorum.Granted:
		p.granted++
		p.inTime = p.inTime || !p.expired && p.granted >= majority(p.nodes)
	case quorum.Refused:
		p.refused++
	default:
		p.missing++
	}
	return p
}

// roundOracle knows every way a round can end, by trying every vote of every
// open node, in every order, with the round expiring at every moment or never.
type roundOracle map[roundPast]ends

// end is the definition, for a round in which every node has voted.
func (p roundPast) end() (quorum.Verdict, quorum.Class) {
	switch {
	case p.inTime:
		return quorum.Won, quorum.ClassOpen
	case p.granted >= majority(p.nodes):
		return quorum.Lost, quorum.TooSlow
	case p.refused >= veto(p.nodes):
		return quorum.Lost, quorum.Taken
	}
	return quorum.Lost, quorum.NoQuorum
}

func (o roundOracle) ends(p roundPast) ends {
	if e, ok := o[p]; ok {
		return e
	}
	var e ends
	if p.granted+p.refused+p.missing == p.nodes {
		verdict, class := p.end()
		e = 1 << (int(verdict)*4 + int(class))
	} else {
		for _, v := range allVotes {
			e |= o.ends(p.with(v))
		}
		if !p.expired {
			late := p
			late.expired = true
			e |= o.ends(late)
		}
	}
	o[p] = e
	return e
}

// decide returns what all ends have in common: a verdict where all agree on it,
// and a class where all are lost for the same reason.
func (o roundOracle) decide(p roundPast) (quorum.Verdict, quorum.Class) {
	e := o.ends(p)
	if i, one := e.only(); one {
		return quorum.Verdict(i / 4), quorum.Class(i % 4)
	}
	const allLost = ends(0xf) << (int(quorum.Lost) * 4)
	if e&^allLost == 0 {
		return quorum.Lost, quorum.ClassOpen
	}
	return quorum.VerdictOpen, quorum.ClassOpen
}

var allVotes = [...]quorum.Vote{quorum.Granted, quorum.Refused, quorum.Unknown, quorum.Unsent}

// releasePast is what has been answered to a release, as far as the definition
// of its end looks at it.
type releasePast struct {
	nodes      int8
	foreign    int8 // nodes that answered foreign
	ours       int8 // voters that answered neither absent nor foreign
	held       int8 // nodes that answered and may hold the lock all the same
	openVoters int8
	openOthers int8
}

// with returns the past after the answer of an open node: a voter before or not,
// and when it answered.
func (p releasePast) with(wasVoter, voter bool, a quorum.Answer, mayHold bool) releasePast {
	if wasVoter {
		p.openVoters--
	} else {
		p.openOthers--
	}
	if a == quorum.Foreign {
		p.foreign++
	}
	if voter && a != quorum.Absent && a != quorum.Foreign {
		p.ours++
	}
	if mayHold {
		p.held++
	}
	return p
}

// end is the definition, for a release that every node has answered.
func (p releasePast) end() quorum.Outcome {
	switch {
	case p.foreign >= veto(p.nodes), p.ours < majority(p.nodes):
		return quorum.LostLock
	case p.held < majority(p.nodes):
		return quorum.Released
	}
	return quorum.NotReleased
}

// releaseOracle knows every way a release can end, by trying every answer of
// every open node, which may turn out to be a voter before it answers.
type releaseOracle map[releasePast]ends

func (o releaseOracle) ends(p releasePast) ends {
	if e, ok := o[p]; ok {
		return e
	}
	var e ends
	if p.openVoters+p.openOthers == 0 {
		e = 1 << p.end()
	}
	for _, a := range allAnswers {
		for _, mayHold := range [...]bool{false, true} {
			if p.openVoters > 0 {
				e |= o.ends(p.with(true, true, a, mayHold))
			}
			if p.openOthers > 0 {
				e |= o.ends(p.with(false, true, a, mayHold))
				e |= o.ends(p.with(false, false, a, mayHold))
			}
		}
	}
	o[p] = e
	return e
}

// decide returns what all ends have in common, where that is lost or released;
// not released is said only when every answer is in.
func (o releaseOracle) decide(p releasePast) quorum.Outcome {
	i, one := o.ends(p).only()
	outcome := quorum.Outcome(i)
	if !one || outcome == quorum.NotReleased && p.openVoters+p.openOthers > 0 {
		return quorum.OutcomeOpen
	}
	return outcome
}

// final returns how the release ends if no open node answers.
func (p releasePast) final() quorum.Outcome {
	for p.openVoters > 0 {
		p = p.with(true, true, quorum.NoAnswer, true)
	}
	for p.openOthers > 0 {
		p = p.with(false, false, quorum.NoAnswer, true)
	}
	return p.end()
}

var allAnswers = [...]quorum.Answer{
	quorum.Deleted, quorum.Absent, quorum.Foreign, quorum.Clear, quorum.NoAnswer,
}
