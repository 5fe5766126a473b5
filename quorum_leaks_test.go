package quorum_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// troubles are all the ways in which calls go wrong.
var troubles = map[string]func(tr *trial){
	"none":       func(*trial) {},
	"taken":      func(tr *trial) { tr.take("k", time.Minute, all...) },
	"refused":    func(tr *trial) { tr.Nodes[0].Proxy().Refuse(true); tr.Nodes[0].Proxy().Reset() },
	"all resets": func(tr *trial) { tr.atAll(func(p *testcluster.Proxy) { p.Refuse(true); p.Reset() }) },
	"silent":     func(tr *trial) { tr.Nodes[1].Proxy().BlackHole(true) },
	"all silent": func(tr *trial) { tr.atAll(func(p *testcluster.Proxy) { p.BlackHole(true) }) },
	"lost replies": func(tr *trial) {
		tr.atAll(func(p *testcluster.Proxy) { p.DropReplies(10, testcluster.ThenClose) })
	},
	"lies": func(tr *trial) { tr.lie(2, []string{"SET", "EVALSHA", "EVAL"}, lies["a length near 2^63"]) },
	"late": func(tr *trial) { tr.atAll(func(p *testcluster.Proxy) { p.Delay(0, 60*time.Millisecond) }) },
}

func (tr *trial) atAll(f func(p *testcluster.Proxy)) {
	for _, n := range tr.Nodes {
		f(n.Proxy())
	}
}

// trouble makes calls of every kind in every trouble, on clients of every kind, and ends all of it.
func (tr *trial) trouble() {
	tr.t.Helper()
	for name, begin := range troubles {
		clients := make([]*redis.Client, len(tr.Nodes))
		for i, n := range tr.Nodes {
			clients[i] = redis.NewClient(&redis.Options{Addr: n.Addr(), DialerRetries: 1})
		}
		const timeout = 50 * time.Millisecond
		ttl := redlock.WithTTL(time.Second)
		lockers := []*redlock.Locker{
			tr.over(clients, redlock.WithNodeTimeout(timeout), ttl),
			tr.open(redlock.WithNodeTimeout(timeout), ttl),
		}
		begin(tr)
		for i := range 100 {
			l := lockers[i%2]
			ctx, cancel := context.WithTimeout(tr.t.Context(), time.Duration(i%20+1)*time.Millisecond)
			lock, err := l.Lock(ctx, "k")
			cancel()
			if err == nil {
				require.NotEqual(tr.t, "taken", name)
				_ = lock.Unlock(tr.t.Context()) // however it ends
			}
		}
		tr.atAll((*testcluster.Proxy).Pass)
		var closing sync.WaitGroup
		for _, l := range lockers {
			closing.Go(func() { _ = l.Close(endsIn(tr.t, 5*time.Second)) }) // what it cannot pay ends with its TTL
		}
		closing.Wait()
		for _, c := range clients {
			_ = c.Close()
		}
		tr.free("k")
	}
	tr.lockers, tr.clients = nil, nil
}

// F83. Not parallel, since it counts the goroutines and the heap of the process.
func TestGoroutinesConnectionsAndHeapComeBackAfterEveryTrouble(t *testing.T) {
	tr := begin(t)
	tr.trouble() // what is made once stays
	before, base := heap(), goroutineCount()
	tr.trouble()
	require.True(t, until(10*time.Second, func() bool { return goroutineCount() <= base }),
		"%d goroutines and not %d", goroutineCount(), base)
	require.True(t, until(10*time.Second, func() bool { return tr.conns() == 0 }), "%d connections are left", tr.conns())
	require.Less(t, heap(), before+2<<20, "1 KiB a call, and what others of this process may take")
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // the second frees what the first finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Nothing grows with the calls that a silent node does not answer: neither the heap nor the goroutines.
func TestCallsOnASilentNodeLeaveNothingBehind(t *testing.T) {
	tr := begin(t)
	l := tr.over(tr.onDefaults())
	tr.warm(l)
	tr.Nodes[2].Proxy().BlackHole(true)
	require.NoError(t, cycles(t, l, 8, 100))
	over, before := goroutines(), heap()
	require.NoError(t, cycles(t, l, 8, 500))
	require.Less(t, heap(), before+2<<20, "half a KiB a call")
	require.LessOrEqual(t, over(), 8+4*5+8)
}

// An idle Locker has no goroutine.
func TestAnIdleLockerHasNoGoroutine(t *testing.T) {
	tr := begin(t)
	base := goroutineCount()
	var lockers []*redlock.Locker
	for range 20 {
		lockers = append(lockers, tr.open())
	}
	for i, l := range lockers {
		lock := tr.lock(l, fmt.Sprint("k", i))
		require.NoError(t, lock.Unlock(t.Context()))
	}
	require.True(t, until(10*time.Second, func() bool { return goroutineCount() <= base }),
		"%d goroutines and not %d", goroutineCount(), base)
}
