// Package sim runs the library's own code, redlock and all that is below it, in worlds where everything goes wrong that can: a seed
// draws which nodes hang, crash, forget and step their clocks, which packets are lost, late or doubled, when clients pause, cancel and
// die. Time is a bubble's, so a second costs nothing, and it is true time: each node and each client has a clock of its own, with
// another rate, and none of them can see it. The checker can, and judges the invariants of the design by it.
//
// # Chance
//
// All of it comes from the seed. Every actor (a client, a link, a subscription) throws dice of its own, so the order in which
// goroutines run at one instant changes nothing; and every delay is drawn to the nanosecond, so hardly two events share one. What
// befalls nodes, links and clients is drawn before a schedule begins; only whether a node may forget is decided when it comes to that.
//
// # Assumptions
//
// In a clean schedule nodes forget, and clocks step, within A1: the checker knows how many nodes carry each token, and spares a node
// whose loss would be one too many. A broken scenario does just that one thing more, and then two clients at once are to be found.
package sim
