// Package quorum holds the decisions of the lock and nothing else: when a round
// of votes is won or lost and why, what the answers to an extension or a release
// prove, which fence a lock gets, for how long a won lock may be trusted, when its
// renewals are due, and how long to pause between attempts.
//
// It is pure. Nothing here reads a clock, draws a random number, blocks, or
// starts a goroutine: what it needs is passed in, so every case can be tried,
// and the tests do try every case for up to five nodes. Nothing here allocates,
// except the text of a panic. No type may be used by several goroutines at
// once; the caller's mutex covers it.
package quorum

import (
	"math/bits"
	"strconv"
)

// MaxNodes is the largest number of nodes one lock may span.
const MaxNodes = 64

// Size returns the number of nodes that make a majority of n: n/2 + 1. Any two
// sets of that size share a node, which is what keeps two holders apart. n is
// the number of configured nodes, whether or not they can be reached.
func Size(n int) int { return n/2 + 1 }

// blocking returns the least number of nodes of n whose refusal leaves too few
// for a majority.
func blocking(n int) int { return n - Size(n) + 1 }

// bit returns the mask of one node of n. It panics when there is no such node.
func bit(node, n int) uint64 {
	if node < 0 || node >= n {
		panic("quorum: no node " + strconv.Itoa(node) + " among " + strconv.Itoa(n))
	}
	return 1 << uint(node)
}

// checkNodes panics when n nodes cannot be tallied.
func checkNodes(n int) {
	if n < 1 || n > MaxNodes {
		panic("quorum: " + strconv.Itoa(n) + " nodes, not 1 to " + strconv.Itoa(MaxNodes))
	}
}

// allOf returns the mask of n nodes.
func allOf(n uint8) uint64 { return ^uint64(0) >> (MaxNodes - uint(n)) }

// count returns the number of nodes in a mask.
func count(mask uint64) int { return bits.OnesCount64(mask) }
