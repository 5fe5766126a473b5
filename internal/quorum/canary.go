package quorum

// NameHash is what Canary knows a node by. Every client that gives the nodes the same names comes to the same.
func NameHash(name string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	return h
}

// Canary returns the node that all clients ask first about a key, among the usable ones: rendezvous hashing, so that the keys
// spread evenly over the nodes, and those of a node that is not usable over the others. Without a usable node it is the one
// that it would be with all. It panics without nodes.
func Canary(key string, names []uint64, usable func(node int) bool) int {
	k := NameHash(key)
	best, bestScore, found := 0, uint64(0), false
	for pass := 0; pass < 2 && !found; pass++ {
		for i, name := range names {
			if s := mix(k ^ mix(name)); (pass == 1 || usable(i)) && (!found || s > bestScore) {
				best, bestScore, found = i, s, true
			}
		}
	}
	if !found {
		panic("quorum: no nodes to choose a canary from")
	}
	return best
}

// mix is the finalizer of SplitMix64: every bit of x changes about half of the bits of the result.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
