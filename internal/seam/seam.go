// Package seam is where a simulation takes hold of the library: there it puts a Locker on nodes of its own, which are no clients, and
// on its own chance.
package seam

import "github.com/quorumlock/go-redlock/internal/node"

// Nodes is what a Locker stands on.
type Nodes struct {
	Names      []string
	Transports []node.Transport
	Listeners  []node.Listener // one for each node, or none: then nobody hears of a release
	Chance     func() uint64   // where it draws its pauses from
	Settle     func()          // returns when nothing else can happen any more at this moment
}

// Over makes a Locker over nodes. Package redlock sets it; it is a
//
//	func(on Nodes, opts ...redlock.Option) (*redlock.Locker, error)
//
// and typed any because redlock imports this package.
var Over any
