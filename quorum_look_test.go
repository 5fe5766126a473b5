package quorum_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// heldBy waits until n nodes hold the key: an acquisition returns at the majority, and the others come after.
func (tr *trial) heldBy(n int, key string) {
	tr.t.Helper()
	require.True(tr.t, until(generous, func() bool { return len(tr.holders(key)) == n }),
		"%s is held by the nodes %v, and not by %d", key, tr.holders(key), n)
}

// gone waits until no node holds the key: an unlock returns at the majority, and the others come after.
func (tr *trial) gone(key string) {
	tr.t.Helper()
	tr.heldBy(0, key)
}

// values returns what the key holds, by node; "" where it is absent.
func (tr *trial) values(key string) []string {
	tr.t.Helper()
	all := make([]string, len(tr.looks))
	for i, look := range tr.looks {
		v, err := look.Get(tr.t.Context(), tr.prefix+key).Result()
		if err != redis.Nil { //nolint:errorlint // the nil reply as it is
			require.NoError(tr.t, err)
		}
		all[i] = v
	}
	return all
}

// holders returns the nodes that hold the key for one of us.
func (tr *trial) holders(key string) []int {
	tr.t.Helper()
	var nodes []int
	for i, v := range tr.values(key) {
		if v != "" && v != foreignToken {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// counterTag marks the counters of fenced locks, behind the prefix. They outlive their locks on purpose.
const counterTag = "~f:"

// keys lists every key of this trial's on every master but the counters. Masters that stand still must not be asked. It may
// be called after the test's own context has ended.
func (tr *trial) keys(nodes ...int) []string {
	ctx, cancel := bounded()
	defer cancel()
	var all []string
	for i, look := range tr.looks {
		if len(nodes) > 0 && !slices.Contains(nodes, i) {
			continue
		}
		found, err := look.Keys(ctx, tr.prefix+"*").Result()
		if err != nil {
			all = append(all, fmt.Sprintf("node %d: %v", i, err))
		}
		for _, key := range found {
			if strings.HasPrefix(key, tr.prefix+counterTag) {
				continue
			}
			all = append(all, fmt.Sprintf("node %d: %s", i, strings.TrimPrefix(key, tr.prefix)))
		}
	}
	return all
}
