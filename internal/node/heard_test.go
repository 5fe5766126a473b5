package node

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// hearing is what was heard of one question.
type hearing struct {
	t  *testing.T
	mu sync.Mutex // protects what follows
	// By node, in the order of arrival.
	replies map[int][]Reply
	times   map[int]time.Duration
}

func (h *hearing) Heard(node int, r *Reply, at time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replies[node] = append(h.replies[node], *r)
	h.times[node] = at
}

func (r *rig) hearing() *hearing {
	return &hearing{t: r.t, replies: map[int][]Reply{}, times: map[int]time.Duration{}}
}

// reply is the one answer that was heard from the node.
func (h *hearing) reply(node int) Reply {
	h.t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Len(h.t, h.replies[node], 1)
	return h.replies[node][0]
}

func (h *hearing) requireSilence(node int) {
	h.t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Empty(h.t, h.replies[node])
}

// requireReply requires that this answer, with this cause, was heard once.
func (h *hearing) requireReply(node int, want quorum.Confirmation, cause error) {
	h.t.Helper()
	got := h.reply(node)
	require.Equal(h.t, want, got.Confirmation)
	if cause == nil {
		require.NoError(h.t, got.Err)
	} else {
		require.ErrorIs(h.t, got.Err, cause)
	}
}

// bidOn is an attempt on several keys.
func (r *rig) bidOn(token string, keys ...string) *bid {
	b := r.bid("", token, ttl)
	b.Keys = nil
	for _, k := range keys {
		b.Keys = append(b.Keys, k)
	}
	return b
}

// fencedBid is an attempt with a counter for each key.
func (r *rig) fencedBid(token string, keys ...string) *bid {
	b := r.bidOn(token, keys...)
	b.Fencing = &Fencing{Seed: int64(7), Retention: int64(3_600_000), Stamps: make([]quorum.Stamp, len(r.lanes))}
	for _, k := range keys {
		b.Fencing.Counters = append(b.Fencing.Counters, "~f:"+k)
	}
	return b
}

func (b *bid) extend() *hearing { return b.extendFor(patience) }

func (b *bid) extendFor(patience time.Duration) *hearing {
	h, now := b.r.hearing(), b.r.clock.Now()
	b.r.Extend(&b.Attempt, 0, h, now, now+patience)
	return h
}

func (b *bid) raise(fence int64) *hearing {
	h, now := b.r.hearing(), b.r.clock.Now()
	b.r.Raise(&b.Attempt, fence, h, now, now+patience)
	return h
}

// repair repairs node 0.
func (b *bid) repair() *hearing { return b.repairFor(patience) }

func (b *bid) repairFor(patience time.Duration) *hearing {
	h := b.r.hearing()
	b.r.Repair(&b.Attempt, 0, 7, h, b.r.clock.Now()+patience)
	return h
}

// armed is what a node answers to an Extend where the keys had so much life left.
func armed(left time.Duration) reply { return value([]any{int64(1), left.Milliseconds()}) }

var (
	yes     = value(int64(1)) // of a script that sets
	no      = value(int64(0))
	gone    = value([]any{int64(0)})
	another = value([]any{int64(-1)})
)
