package quorum

import "strconv"

// Vote is one node's answer in a round.
type Vote uint8

const (
	// VoteOpen says that the node has not answered yet.
	VoteOpen Vote = iota
	// Granted says that the node set the key for us.
	Granted
	// Refused says that the node holds the key for somebody else.
	Refused
	// Unknown says that the request may have been applied, now or later.
	Unknown
	// Unsent says that the request was certainly not applied and never will be.
	Unsent
)

// String returns the vote in the words of the documentation.
func (v Vote) String() string {
	switch v {
	case VoteOpen:
		return "open"
	case Granted:
		return "granted"
	case Refused:
		return "refused"
	case Unknown:
		return "unknown"
	case Unsent:
		return "unsent"
	}
	return "vote(" + strconv.Itoa(int(v)) + ")"
}

// Verdict is what the votes of a round decide.
type Verdict uint8

const (
	// VerdictOpen says that later votes can still decide either way.
	VerdictOpen Verdict = iota
	// Won says that a majority granted before the round expired.
	Won
	// Lost says that no majority granted in time, and none can any more.
	Lost
)

// String returns the verdict in the words of the documentation.
func (v Verdict) String() string {
	switch v {
	case VerdictOpen:
		return "open"
	case Won:
		return "won"
	case Lost:
		return "lost"
	}
	return "verdict(" + strconv.Itoa(int(v)) + ")"
}

// Class is why a round was lost.
type Class uint8

const (
	// ClassOpen says that the round is not lost, or that later votes can still
	// decide why.
	ClassOpen Class = iota
	// Taken says that so many nodes refused that no majority was free: somebody
	// else has the lock, or others compete for it.
	Taken
	// NoQuorum says that neither a majority granted nor enough nodes refused:
	// too many of them gave no usable answer.
	NoQuorum
	// TooSlow says that a majority granted, but not in time.
	TooSlow
)

// String returns the class in the words of the documentation.
func (c Class) String() string {
	switch c {
	case ClassOpen:
		return "open"
	case Taken:
		return "taken"
	case NoQuorum:
		return "no quorum"
	case TooSlow:
		return "too slow"
	}
	return "class(" + strconv.Itoa(int(c)) + ")"
}
