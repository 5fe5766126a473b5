package redlock

import (
	"sync"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// nodeTime is what the nodes' clocks show, by what a majority said last: the seed of a fence. The wall clock of this process has no
// part in it. If it had, a client whose clock is wrong, and a node whose clock is wrong by as much, would agree on a counter that is
// far ahead, and after that no seed would be of use to the key for as long.
type nodeTime struct {
	mu    sync.Mutex // protects what follows
	ahead int64      // microseconds, of the nodes' clocks before ours
	known bool
}

// seed is the nodes' time at a time of our clock, in microseconds; 0, which no node takes, while it is not known.
func (n *nodeTime) seed(now time.Duration) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if seed := now.Microseconds() + n.ahead; n.known && seed > 0 && seed < quorum.SeedLimit {
		return seed
	}
	return 0
}

// learn takes in what a majority of the nodes showed, at about the middle between two times of our clock.
func (n *nodeTime) learn(stamps []quorum.Stamp, sent, heard time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ahead = quorum.MedianTime(stamps) - (sent + (heard-sent)/2).Microseconds()
	n.known = true
}
