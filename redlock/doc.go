// Package redlock is a lock over independent Redis masters that survives the loss of a minority of them.
//
// A [Locker] asks all its nodes at once for SET key token NX PX ttl, holds the lock when a majority of the configured nodes
// said yes inside the time that is left, and gives everything back when it did not. With one node it is a plain, efficient
// lock on that node; use five where a lock must be had while two are down.
//
//	locker, err := redlock.Open([]string{"redis://a:6379", "redis://b:6379", "redis://c:6379"})
//	lock, err := locker.Lock(ctx, "invoice:42")
//	defer lock.Unlock(ctx)
//
// # The life of a lock
//
// A lock is held from the return of Lock until it is given up ([Lock.Unlock], [Lock.Leave], [Lock.Detach], [Locker.Close]) or
// lost; it ends once. [Lock.Extend] gives it a full TTL again, [Lock.KeepAlive] does so for as long as it can, and [Locker.Do] runs a
// function under a lock that is kept alive. [Lock.Done], [Lock.Err] and [Lock.Context] tell that it ended, by the clock of this
// process and without any network.
//
// # What is guaranteed
//
// Under the assumptions below, and as long as its holder heeds [Lock.Done] or [Lock.Remaining], two holders of one key never
// overlap: the intervals from the return of Lock to the end of validity, or to the call that gives it up, are disjoint on true
// time.
//
// Honest loss: a lock is said to be lost no later than the end of its validity (plus what a timer is late; within 100 ms of waking
// after a suspend), and what was once said lost stays so. Extend and Unlock never return nil for a lost lock.
//
// Continuity: Extend succeeds only if a majority of the nodes whose grants made the lock ours still had it.
//
// Fences: where every holder of a key takes it [WithFencing], they rise from one to the next, as long as not all nodes that stored
// the one's fence and granted the other have forgotten the key's counter (an Extend stores it on all that have the key); and even
// then, if they stayed away for longer than their clocks differ and half a second.
//
// Own only: no key that carries another's token is ever deleted, extended or overwritten.
//
// No ghosts: after a failed or cancelled Lock, or an Unlock, no key of ours remains one second after its node has answered
// this process again. Bytes still in the network, and a process that died, cost one TTL at most.
//
// Bounded time: whatever the clients' options and however many nodes are silent, TryLock, Extend, Resume and Inspect return
// within the node timeout (TryLock and Resume of a fenced lock within twice that) and by the end of their context, Unlock and
// Leave within twice the node timeout, Lock at the end of its context, each plus what the scheduler needs.
//
// Vote honesty: success is a quorum of the nodes' own answers inside the validity. A lost reply, a timeout, an error, a
// malformed reply is neither yes nor no, and no command is ever sent twice.
//
// Survival: no reply from fewer than a majority of the nodes can panic, hang or corrupt the process. (One exception, in the
// client: a reply that declares a length of many gigabytes makes it allocate them.)
//
// # What is assumed
//
// Grants survive. Of the g nodes that carry a lock's key, at most g + quorum − nodes − 1 forget it early: by a restart
// without its data, an eviction, a clock that is put forward, or a lie. Of five nodes two may when all five carry the key,
// one when four do, and none of a bare three; a node that missed the latest Extend is not among the g. So: no eviction, and a
// node that was restarted empty stays away for the longest TTL in use.
//
// Clocks run at about the same rate, within [WithDrift]. They need not show the same time.
//
// The holder stops when the lock ends, or the resource checks for itself.
//
// # What is not promised
//
// A lease is no proof. A process that is stopped past its TTL, by a garbage collector, by SIGSTOP, by the host of its virtual
// machine, acts on when it wakes, while another may hold the lock. No lock with a timeout can prevent that: ask Remaining
// right before what must not happen twice, keep the TTL well above the work, or let the resource reject late writes.
//
// Redis Cluster, Ring and replicated masters are not nodes: a replica that is promoted does not know the locks of the master
// that died.
//
// # Waiting
//
// Callers of Lock in one process are served in their order, and one of them contends. Processes queue on one of the nodes, the
// canary of the key, and whoever gives the lock back names the next, so that they take turns at about 30 commands each, however many
// wait. The queue carries no promise: where it is lost, or forbidden, or somebody meddles with it, waiters ask now and then, a hundred
// times a second all together, and after a dead holder's TTL. All clients must call the nodes the same for that, by their addresses or
// [WithNodeNames].
//
// TryLock does not wait and does not queue. It barges: loops of it take turns from those who wait. Whoever wants a turn calls Lock.
//
// # Concurrency
//
// Every type may be used by several goroutines at once. An idle Locker has no goroutine; a busy one at most one a node, and a
// node that hangs holds that one, not one for each caller. While callers wait for other processes there is besides, for each node that
// they queue at, one connection with a subscription, the goroutine that reads it, and a second later none.
//
// # Errors
//
// All errors are asked with errors.Is; the details of ErrTaken, ErrNoQuorum, ErrTooSlow, ErrLost and ErrNotAcquired are in a
// [*QuorumError]. The class of a failed TryLock depends on what the nodes answered and not on the order in which they did.
// The errors and texts of nodes are theirs; tokens and passwords are in no text and in no formatted value.
//
// # Testing
//
// [WithClock] takes a clock of package clock: Manual to step time by hand, Monotonic for testing/synctest. miniredis serves as
// a node. To hold what you build against real faults, put a proxy in front of a master, or stop it with SIGSTOP.
package redlock
