package sim

import (
	"math/bits"
	"time"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// mayForget tells whether a node may lose what it carries now: of the g nodes that carry a lock's key, no more than g + quorum − N − 1
// may (A1). It takes every token that was not given up for that of a lock. The world's mutex is held.
func (k *checker) mayForget(n *master, now time.Duration) bool {
	w := k.world
	for key, token := range n.store.Values(n.local(now)) {
		if !isLock(key) || k.over[token] {
			continue
		}
		g := k.carriers(key, token, now) | k.early[token] | 1<<n.index
		gone := bits.OnesCount64(k.early[token] | 1<<n.index)
		if gone > bits.OnesCount64(g)+quorum.Size(len(w.nodes))-len(w.nodes)-1 {
			return false
		}
	}
	return true
}

// carriers are the nodes that carry a token for as long as its lock is valid. Of a lock that was extended those are not among them that
// missed the latest extension: theirs ends first. The world's mutex is held.
func (k *checker) carriers(key, token string, now time.Duration) (g uint64) {
	w := k.world
	since := make([]time.Duration, len(w.nodes)) // when the node was last told to keep it
	latest := time.Duration(0)
	for i, n := range w.nodes {
		if v, there := n.store.Value(n.local(now), key); !there || v != token {
			continue
		}
		since[i] = unrated(n.store.End(key).Sub(n.local(0))-w.plan.ttl, n.ppm)
		latest = max(latest, since[i])
		g |= 1 << i
	}
	for i := range w.nodes {
		if k.renewed[token] && since[i] < latest-2*time.Millisecond { // the drift costs the validity more than that
			g &^= 1 << i
		}
	}
	return g
}

// forgets notes that a node loses what it carries. The world's mutex is held.
func (k *checker) forgets(n *master, now time.Duration) {
	for key, token := range n.store.Values(n.local(now)) {
		if isLock(key) {
			k.early[token] |= 1 << n.index
		}
	}
}
