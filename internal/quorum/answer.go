package quorum

import "strconv"

// Answer is one node's answer to a release.
type Answer uint8

const (
	// AnswerOpen says that the node has not answered yet.
	AnswerOpen Answer = iota
	// Deleted says that our token was there and is gone now. A node that answers
	// absent to a release after one was already sent there is recorded as Deleted
	// too: the answer to the first may have been lost on its way.
	Deleted
	// Absent says that the node had no key, and no release had been sent before.
	Absent
	// Foreign says that the node holds the key for somebody else.
	Foreign
	// Clear says that nothing of ours can be there, so the node was not asked.
	Clear
	// NoAnswer says that the node did not answer, or not in a form that counts.
	NoAnswer
)

// String returns the answer in the words of the documentation.
func (a Answer) String() string {
	switch a {
	case AnswerOpen:
		return "open"
	case Deleted:
		return "deleted"
	case Absent:
		return "absent"
	case Foreign:
		return "foreign"
	case Clear:
		return "clear"
	case NoAnswer:
		return "no answer"
	}
	return "answer(" + strconv.Itoa(int(a)) + ")"
}

// Outcome is what the answers to a release prove.
type Outcome uint8

const (
	// OutcomeOpen says that answers are open which still matter.
	OutcomeOpen Outcome = iota
	// Released says that the lock was ours, as far as anybody can tell, and fewer
	// than a quorum of nodes may still hold it: anybody may take it now.
	Released
	// LostLock says that the lock was no longer ours when the release came.
	LostLock
	// NotReleased says that loss is not proven, and a quorum of nodes may still
	// hold the lock.
	NotReleased
)

// String returns the outcome in the words of the documentation.
func (o Outcome) String() string {
	switch o {
	case OutcomeOpen:
		return "open"
	case Released:
		return "released"
	case LostLock:
		return "lost"
	case NotReleased:
		return "not released"
	}
	return "outcome(" + strconv.Itoa(int(o)) + ")"
}
