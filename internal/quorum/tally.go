package quorum

// Tally counts the votes of one round and says, as early as can be, whether it
// is won or lost, and why it was lost. It is a value: a copy is a tally of its
// own. NewTally makes one; the zero Tally has no nodes.
type Tally struct {
	votes   [Unsent + 1]uint64 // for each vote the nodes that cast it; index VoteOpen stays 0
	n       uint8
	verdict Verdict
}

// NewTally returns the tally of a round that asks n nodes, with every vote open.
// It panics unless 1 ≤ n ≤ MaxNodes.
func NewTally(n int) Tally {
	checkNodes(n)
	return Tally{n: uint8(n)}
}

// Record notes the vote of a node, numbered from 0, and reports whether it
// counts: the first vote of a node stands, and every later one is ignored. Votes
// that come after the verdict are noted too; they decide the class of a lost
// round and leave the verdict as it is. Record panics when there is no such
// node, or v is VoteOpen or no vote at all.
func (t *Tally) Record(node int, v Vote) bool {
	b := bit(node, t.N())
	if v == VoteOpen || v > Unsent {
		panic("quorum: " + v.String() + " is not a vote to record")
	}
	if t.voted()&b != 0 {
		return false
	}
	t.votes[v] |= b
	if t.verdict == VerdictOpen {
		t.verdict = t.decide()
	}
	return true
}

// decide returns the verdict of the votes so far, in a round that has not expired.
func (t *Tally) decide() Verdict {
	switch granted := t.Granted(); {
	case granted >= t.Quorum():
		return Won
	case granted+t.Open() < t.Quorum():
		return Lost
	}
	return VerdictOpen
}

// Expire says that a majority would come too late from here on: validity is
// gone, or the time to wait is up. An open round is lost by it; a verdict that
// was reached before stands.
func (t *Tally) Expire() {
	if t.verdict == VerdictOpen {
		t.verdict = Lost
	}
}

// Verdict returns what the votes so far decide. It is final once it is not
// VerdictOpen.
func (t *Tally) Verdict() Verdict { return t.verdict }

// Class returns why the round was lost, or ClassOpen while that can still change
// and for a round that is not lost. It is final once it is not ClassOpen, does
// not depend on the order of the votes, and is known at the latest when no vote
// of a lost round is open.
func (t *Tally) Class() Class {
	if t.verdict != Lost {
		return ClassOpen
	}
	open, block := t.Open(), blocking(t.N())
	// At most one case holds: granted + refused ≤ N rules out the first two
	// together, and the third denies both.
	switch granted, refused := t.Granted(), t.Refused(); {
	case refused >= block:
		return Taken
	case granted >= t.Quorum():
		return TooSlow
	case refused+open < block && granted+open < t.Quorum():
		return NoQuorum
	}
	return ClassOpen
}

// Vote returns the vote of a node, VoteOpen while there is none. It panics when
// there is no such node.
func (t *Tally) Vote(node int) Vote {
	b := bit(node, t.N())
	for v := Granted; v <= Unsent; v++ {
		if t.votes[v]&b != 0 {
			return v
		}
	}
	return VoteOpen
}

// N returns the number of nodes asked.
func (t *Tally) N() int { return int(t.n) }

// Quorum returns the number of grants that win the round.
func (t *Tally) Quorum() int { return Size(t.N()) }

// Granted returns the number of nodes that granted, in time or not.
func (t *Tally) Granted() int { return count(t.votes[Granted]) }

// Refused returns the number of nodes that refused.
func (t *Tally) Refused() int { return count(t.votes[Refused]) }

// Unknown returns the number of nodes where the request may have been applied.
func (t *Tally) Unknown() int { return count(t.votes[Unknown]) }

// Unsent returns the number of nodes that certainly did not get the request.
func (t *Tally) Unsent() int { return count(t.votes[Unsent]) }

// Open returns the number of nodes that have not voted.
func (t *Tally) Open() int { return t.N() - count(t.voted()) }

// voted returns the nodes that have voted.
func (t *Tally) voted() uint64 {
	return t.votes[Granted] | t.votes[Refused] | t.votes[Unknown] | t.votes[Unsent]
}
