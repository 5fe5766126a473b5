// Package node speaks to the nodes of a quorum: one lane each, and what must be known of each to be honest about it.
//
// # A lane
//
// All that goes to one node goes through one ordered queue. Submitting never blocks. If no round trip is under way a
// goroutine starts and sends; what queues meanwhile leaves as one pipeline on its return; when nothing is left the
// goroutine ends. So an idle [Group] has no goroutine, a busy one at most one a node, and a hung node holds one goroutine
// rather than one a caller.
//
// The order is what makes undoing simple: a release submitted after a SET runs after it, for as long as the lane's
// connection lives. Where it did not live, the SET has an unknown fate, and a debt takes over.
//
// # A claim
//
// A claim is what one token may have on one node. Its states, all guarded by the node's mutex:
//
//	        submit            batch leaves          answer
//	none ──────────▶ queued ───────────────▶ flying ──────▶ granted │ refused │ errored
//	  ▲                │ withdrawn, past its    │  never
//	  └────────────────┘ deadline               ├─ serialised ─▶ none
//	                                            └─ no answer ──▶ unknown
//
// granted, errored and unknown may leave our key on the node; a release answered for good brings none again.
//
// # A debt
//
// A debt is a claim that was given up and not yet released for good: the node did not answer the release, or a SET of the
// token there has an unknown fate and may still be applied. It is repeated when the node answers again, on the schedule of
// [debt.settle], and it is never dropped while the Group and the node's client live.
//
// # A suspect
//
// A node that owes an answer past its timeout is suspect. It gets one probe at a time until it answers: its oldest debt,
// else the next operation, else PING. While a quorum of nodes is not suspect everything else to it is unsent at once;
// otherwise it waits behind the probe, because a stall of this process makes all nodes late together and must not cost more
// than a round trip.
//
// # Locks
//
// Each node has one mutex, which is never held while a listener or the transport is called; so no order between the nodes'
// mutexes, and none with the callers' own, is needed.
package node
