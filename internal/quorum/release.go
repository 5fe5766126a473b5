package quorum

// Release counts the answers to the release of one lock and says, as early as
// can be, whether it is given back, or proves to have been lost before. It is a
// value: a copy is a tally of its own. NewRelease makes one; the zero Release
// has no nodes.
//
// A voter is a node whose grant makes the lock ours. Loss is proven when so many
// nodes answered Absent or Foreign that fewer than a quorum of voters can have
// held our token when the release came. Foreign tokens on N − quorum + 1 nodes
// are one case of it, whoever the voters are. A node that did not answer proves
// nothing.
type Release struct {
	answered uint64
	gone     uint64 // answered Absent or Foreign
	mayHold  uint64 // answered, and may hold our token all the same
	voters   uint64
	n        uint8
}

// NewRelease returns the tally of a release to n nodes with every answer open
// and no voter. It panics unless 1 ≤ n ≤ MaxNodes.
func NewRelease(n int) Release {
	checkNodes(n)
	return Release{n: uint8(n)}
}

// SetVoter says that a node, numbered from 0, granted the lock in time. It may be
// called until the node's answer is recorded, and changes nothing after that:
// until then Outcome reckons with it. SetVoter panics when there is no such node.
func (r *Release) SetVoter(node int) {
	r.voters |= bit(node, int(r.n)) &^ r.answered
}

// Record notes the answer of a node, numbered from 0, and reports whether it
// counts: the first answer of a node stands, and every later one is ignored.
// mayHold says that the node may still carry our token, or get it yet, whatever
// it answered: the fate of a SET of that token there is not known. Record panics
// when there is no such node, or a is AnswerOpen or no answer at all.
func (r *Release) Record(node int, a Answer, mayHold bool) bool {
	b := bit(node, int(r.n))
	if a == AnswerOpen || a > NoAnswer {
		panic("quorum: " + a.String() + " is not an answer to record")
	}
	if r.answered&b != 0 {
		return false
	}
	r.answered |= b
	if a == Absent || a == Foreign {
		r.gone |= b
	}
	if mayHold {
		r.mayHold |= b
	}
	return true
}

// Outcome returns what every completion of the open answers will prove, where an
// open node may also turn out to be a voter: LostLock as soon as loss is proven,
// Released as soon as fewer than a quorum of nodes may still hold the lock and
// loss can no longer be proven, OutcomeOpen else while answers are open. Both are
// final once said. When no answer is open, Outcome is what Final says.
func (r *Release) Outcome() Outcome {
	open := r.open()
	switch {
	case open == 0:
		return r.Final()
	case r.lost(r.voters | open):
		return LostLock
	// A quorum of voters that can no longer answer Absent or Foreign.
	case !r.lost(r.voters&r.answered) && r.Held() < r.quorum():
		return Released
	}
	return OutcomeOpen
}

// Final returns what is proven if no more answers are waited for: an open answer
// counts as NoAnswer, and its node may hold the lock. It is never OutcomeOpen.
func (r *Release) Final() Outcome {
	switch {
	case r.lost(r.voters):
		return LostLock
	case r.Held() < r.quorum():
		return Released
	}
	return NotReleased
}

// Held returns the number of nodes that may still hold the lock, those included
// that have not answered.
func (r *Release) Held() int { return count(r.mayHold | r.open()) }

// lost reports whether fewer than a quorum of these voters can have held our
// token when the release came.
func (r *Release) lost(voters uint64) bool { return count(voters&^r.gone) < r.quorum() }

// open returns the nodes that have not answered.
func (r *Release) open() uint64 { return allOf(r.n) &^ r.answered }

// quorum returns the number of nodes that make a majority.
func (r *Release) quorum() int { return Size(int(r.n)) }
