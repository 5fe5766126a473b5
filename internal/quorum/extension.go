package quorum

import "strconv"

// Confirmation is one node's answer to a question that only a lock which is still
// held there can answer with yes: extend it, or leave it to live for a while.
type Confirmation uint8

const (
	// ConfirmationOpen says that the node has not answered yet.
	ConfirmationOpen Confirmation = iota
	// Confirmed says that our token was there, and what was asked was done.
	Confirmed
	// Gone says that the node had no key, or holds it for somebody else: if it was
	// a voter, it is none any more.
	Gone
	// Unconfirmed says that the node did not answer, or not in a form that counts.
	Unconfirmed
)

// String returns the confirmation in the words of the documentation.
func (c Confirmation) String() string {
	switch c {
	case ConfirmationOpen:
		return "open"
	case Confirmed:
		return "confirmed"
	case Gone:
		return "gone"
	case Unconfirmed:
		return "unconfirmed"
	}
	return "confirmation(" + strconv.Itoa(int(c)) + ")"
}

// Extension counts the confirmations of one Extend, or one Leave, and says, as
// early as can be, whether it is won or lost, and whether the lock itself proves
// to be lost. It is a value: a copy is a tally of its own. NewExtension makes
// one; the zero Extension has no nodes.
//
// A voter is a node whose grant makes the lock ours. Only voters win: a node that
// got our token afterwards may have had somebody else's meanwhile, so that its
// confirmation says nothing about the time between. A lost Extension is not a
// lost lock: silence loses the round, and only Gone proves anything.
type Extension struct {
	answers [Unconfirmed + 1]uint64 // for each confirmation the nodes that gave it; index ConfirmationOpen stays 0
	voters  uint64                  // those included that are gone
	n       uint8
	verdict Verdict
}

// NewExtension returns the tally of a question to n nodes with every answer open
// and no voter. It panics unless 1 ≤ n ≤ MaxNodes.
func NewExtension(n int) Extension {
	checkNodes(n)
	return Extension{n: uint8(n)}
}

// SetVoter says that a node, numbered from 0, is a voter. It may be called until
// the node's answer is recorded, and changes nothing after that: until then
// Verdict and Proof reckon with it. SetVoter panics when there is no such node.
func (e *Extension) SetVoter(node int) {
	e.voters |= bit(node, int(e.n)) &^ e.answered()
}

// Record notes the answer of a node, numbered from 0, and reports whether it
// counts: the first answer of a node stands, and every later one is ignored.
// Answers that come after the verdict are noted too; they leave it as it is and
// count for all else. Record panics when there is no such node, or c is
// ConfirmationOpen or no confirmation at all.
func (e *Extension) Record(node int, c Confirmation) bool {
	b := bit(node, int(e.n))
	if c == ConfirmationOpen || c > Unconfirmed {
		panic("quorum: " + c.String() + " is not a confirmation to record")
	}
	if e.answered()&b != 0 {
		return false
	}
	e.answers[c] |= b
	if e.verdict == VerdictOpen {
		e.verdict = e.decide()
	}
	return true
}

// decide returns the verdict of the answers so far, in a round that has not
// expired. An answer alone can decide: SetVoter makes no confirmation count that
// is recorded already, and denies none to come.
func (e *Extension) decide() Verdict {
	switch confirmed := count(e.voters & e.answers[Confirmed]); {
	case confirmed >= e.quorum():
		return Won
	case confirmed+count(e.open()) < e.quorum():
		return Lost
	}
	return VerdictOpen
}

// Expire says that a majority would come too late from here on: validity is
// gone, or the time to wait is up. An open round is lost by it; a verdict that
// was reached before stands.
func (e *Extension) Expire() {
	if e.verdict == VerdictOpen {
		e.verdict = Lost
	}
}

// Verdict returns what the answers so far decide: Won once a quorum of voters
// confirmed before the round expired, Lost once no completion of the open answers
// can win, where an open node may also turn out to be a voter. It is final once
// it is not VerdictOpen.
func (e *Extension) Verdict() Verdict { return e.verdict }

// Proof reports whether the lock is proven to be lost: fewer than a quorum of
// voters can still have our token, whatever the open nodes answer, where an open
// node may also turn out to be a voter. maybe holds the nodes that may still
// become voters by the acquisition itself, because their vote is not in; bits of
// no node are ignored. A round whose lock is proven to be lost is lost itself,
// and a round that was won proves that nothing was.
//
// Once true it stays true, as long as maybe gains no node that had answered
// Confirmed or Unconfirmed without being a voter when it was first true. Losing
// nodes is no matter. This is enough because all others are counted already, if
// they are not gone for good: voters and open nodes always, whatever maybe says.
func (e *Extension) Proof(maybe uint64) bool {
	carriers := e.voters | maybe&allOf(e.n) | e.open()
	return count(carriers&^e.answers[Gone]) < e.quorum()
}

// Confirmed reports whether a node answered Confirmed, as a voter or not, in time
// or not. It panics when there is no such node.
func (e *Extension) Confirmed(node int) bool {
	return e.answers[Confirmed]&bit(node, int(e.n)) != 0
}

// Confirmations returns the nodes that answered Confirmed, voters or not, bit i
// for node i.
func (e *Extension) Confirmations() uint64 { return e.answers[Confirmed] }

// Gone returns the nodes that answered Gone, which were voters or not.
func (e *Extension) Gone() uint64 { return e.answers[Gone] }

// Missing returns the nodes that answered Unconfirmed. A node that has not
// answered is not among them.
func (e *Extension) Missing() uint64 { return e.answers[Unconfirmed] }

// Voters returns the nodes that are voters: what SetVoter said before they
// answered, without those that are gone.
func (e *Extension) Voters() uint64 { return e.voters &^ e.answers[Gone] }

// answered returns the nodes that have answered.
func (e *Extension) answered() uint64 {
	return e.answers[Confirmed] | e.answers[Gone] | e.answers[Unconfirmed]
}

// open returns the nodes that have not answered.
func (e *Extension) open() uint64 { return allOf(e.n) &^ e.answered() }

// quorum returns the number of nodes that make a majority.
func (e *Extension) quorum() int { return Size(int(e.n)) }
