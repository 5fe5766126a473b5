package quorum_test

import "github.com/quorumlock/go-redlock/internal/quorum"

var allConfirmations = [...]quorum.Confirmation{quorum.Confirmed, quorum.Gone, quorum.Unconfirmed}

// extensionPast is what has happened in a round of confirmations, as far as the
// definition of its verdict looks at it.
type extensionPast struct {
	nodes      int8
	confirmed  int8 // voters that answered confirmed
	openVoters int8
	openOthers int8
	expired    bool
	inTime     bool // a majority of voters confirmed before the round expired
}

func newExtensionPast(n int) extensionPast {
	return extensionPast{nodes: int8(n), openOthers: int8(n)}
}

// told returns the past after an open node turned out to be a voter.
func (p extensionPast) told() extensionPast {
	p.openOthers--
	p.openVoters++
	return p
}

// with returns the past after the answer of an open node, a voter or not.
func (p extensionPast) with(voter bool, c quorum.Confirmation) extensionPast {
	if !voter {
		p.openOthers--
		return p
	}
	p.openVoters--
	if c == quorum.Confirmed {
		p.confirmed++
		p.inTime = p.inTime || !p.expired && p.confirmed >= majority(p.nodes)
	}
	return p
}

// extensionOracle knows every way a round of confirmations can end, by trying
// every answer of every open node, which may turn out to be a voter before it,
// in every order, with the round expiring at every moment or never.
type extensionOracle map[extensionPast]ends

func (o extensionOracle) ends(p extensionPast) ends {
	if e, ok := o[p]; ok {
		return e
	}
	var e ends
	switch {
	case p.openVoters+p.openOthers > 0:
	case p.inTime:
		e = 1 << quorum.Won
	default:
		e = 1 << quorum.Lost
	}
	if p.openOthers > 0 {
		e |= o.ends(p.told())
	}
	for _, c := range allConfirmations {
		if p.openVoters > 0 {
			e |= o.ends(p.with(true, c))
		}
		if p.openOthers > 0 {
			e |= o.ends(p.with(false, c))
		}
	}
	if !p.expired {
		late := p
		late.expired = true
		e |= o.ends(late)
	}
	o[p] = e
	return e
}

// decide returns the verdict that all ends have in common, if they have one.
func (o extensionOracle) decide(p extensionPast) quorum.Verdict {
	if i, one := o.ends(p).only(); one {
		return quorum.Verdict(i)
	}
	return quorum.VerdictOpen
}

// proofPast is what has happened as far as the definition of proven loss looks at
// it. A carrier is a voter, or a node that may still become one by the
// acquisition itself.
type proofPast struct {
	nodes        int8
	kept         int8 // carriers that answered, and not that our token is gone
	openCarriers int8
	openOthers   int8
}

// proofOracle knows in which ways a round can end, lost (1) or not (0), by trying
// every answer of every open node, which may turn out to be a voter before it.
type proofOracle map[proofPast]ends

func (o proofOracle) ends(p proofPast) ends {
	if e, ok := o[p]; ok {
		return e
	}
	var e ends
	switch {
	case p.openCarriers+p.openOthers > 0:
	case p.kept < majority(p.nodes):
		e = 1 << 1
	default:
		e = 1 << 0
	}
	for _, c := range allConfirmations {
		if p.openCarriers > 0 {
			next := p
			next.openCarriers--
			if c != quorum.Gone {
				next.kept++
			}
			e |= o.ends(next)
		}
		if p.openOthers > 0 {
			next := p
			next.openOthers--
			e |= o.ends(next)
		}
	}
	if p.openOthers > 0 {
		told := p
		told.openOthers--
		told.openCarriers++
		e |= o.ends(told)
	}
	o[p] = e
	return e
}

// proven reports whether the lock is lost however the round ends.
func (o proofOracle) proven(p proofPast) bool { return o.ends(p) == 1<<1 }
