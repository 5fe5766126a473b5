package quorum_test

import (
	"context"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

// bystanders are what somebody else has on the masters, under names that the load tries in vain, that it may have on the other nodes,
// and that are none of ours.
type bystanders struct {
	all    []*bystander
	theirs []string // of these, what somebody else has on a majority
}

// bystander is one key.
type bystander struct {
	*meddler // whose check holds that it is as it was left
	life     time.Duration
	list     bool
}

// bystanders puts them there. In the end checked looks after them.
func (tr *trial) bystanders() *bystanders {
	tr.t.Helper()
	elsewhere := &trial{masters: tr.masters, t: tr.t, prefix: "somebody else's "}
	b := &bystanders{theirs: []string{"theirs", "theirs for an hour", "theirs on three", "their list"}}
	add := func(tr *trial, key string, nodes []int, life time.Duration, list bool) {
		b.all = append(b.all, &bystander{&meddler{tr: tr, key: key, nodes: nodes, theirs: make(map[int]*belonging)}, life, list})
	}
	add(tr, "theirs", all, 0, false)
	add(tr, "theirs for an hour", all, time.Hour, false)
	add(tr, "theirs on three", []int{1, 2, 4}, 0, false)
	add(tr, "their list", all, 0, true)
	add(tr, "k200", []int{0, 3}, 0, false) // a plain key of the load, and a fenced one: it has them on the other three
	add(tr, "k201", []int{1, 2}, time.Hour, false)
	add(elsewhere, "name", all, 0, false)
	add(elsewhere, "k0", all, time.Hour, false)
	add(elsewhere, "list", []int{2}, time.Hour, true)
	for i := range tr.Nodes {
		require.NoError(tr.t, b.plant(tr.t.Context(), i))
	}
	return b
}

// plant puts onto one node what somebody else has there. No client of ours may reach it meanwhile.
func (b *bystanders) plant(ctx context.Context, node int) error {
	for _, m := range b.all {
		if !slices.Contains(m.nodes, node) {
			continue
		}
		m.theirs[node] = &belonging{value: foreignToken, list: m.list, life: m.life}
		if err := m.theirs[node].put(ctx, m.tr.looks[node], m.tr.prefix+m.key); err != nil {
			return err
		}
	}
	return nil
}

// checked holds that everything is there as it was left, takes it away, and returns how many keys that were.
func (b *bystanders) checked() (keys int) {
	for _, m := range b.all {
		require.NoError(m.tr.t, m.check(m.tr.t.Context()), m.key)
		require.Len(m.tr.t, m.theirs, len(m.nodes), m.key)
		keys += len(m.nodes)
		m.tr.free(m.key)
	}
	return keys
}
