// Package testcluster gives tests, benchmarks and the demo a handful of independent Redis masters, and the faults
// that a quorum lock must live through.
//
// Masters come from one of four back ends behind one interface: containers (the subpackage of that name, linked only
// by who imports it), redis-server processes, servers embedded in this process, and addresses given from outside. In
// front of every master stands a [Proxy], so that the faults of the network can be made whatever the back end is.
//
// # Which address to dial
//
// [Node.Addr] is the proxy, [Node.Direct] the master; neither changes while the cluster lives, also across a kill and
// a restart. Clients of the proxy's address meet every fault; those of the direct one meet only the faults of the
// master itself and of [Node.Partition], and are for looking behind the scenes. The proxy runs in this process: who
// counts goroutines asks [Goroutines], which leaves its own out.
//
// # Keys
//
// Masters begin empty, but for those at given addresses, which nobody empties: tests use keys of their own.
//
// # Ends
//
// Close ends everything that Start began. Should this process die before, however it dies, containers, packet filters
// and, on Linux, processes end with it; what processes kept on disk is removed by the next that starts some.
package testcluster
