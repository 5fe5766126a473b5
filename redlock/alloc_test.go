package redlock

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/internal/node"
)

// lean answers every command at once and allocates nothing.
type lean struct{}

func (lean) Exec(batch []*node.Command) error {
	for _, c := range batch {
		_ = c.Args()
		if c.Name() == "set" {
			c.SetVal("OK")
		} else {
			c.SetVal(int64(1))
		}
		c.SetErr(nil)
	}
	return nil
}

// cycleAllocs is what one acquisition and its release allocated when this was written, over five nodes, and a tenth. The
// client's own come on top of it.
const cycleAllocs = 31

// heldBytes is what a lock that is held may cost, over five nodes, besides its key.
const heldBytes = 1 << 10

// Not parallel: it measures the process's heap.
func TestALockThatIsHeldCostsNoMoreThanAKibibyte(t *testing.T) {
	s := defaults()
	s.clock = clock.System()
	require.NoError(t, s.apply([]Option{WithNodeTimeout(ttl / 2), WithTTL(time.Hour)}))
	l := assemble([]string{"a", "b", "c", "d", "e"}, []node.Transport{lean{}, lean{}, lean{}, lean{}, lean{}}, s)
	const n = 20_000
	locks := make([]*Lock, n)
	take := func(from, to int) {
		for i := from; i < to; i++ {
			lock, err := l.TryLock(t.Context(), "a key of usual length")
			require.NoError(t, err)
			locks[i] = lock
		}
	}
	take(0, n/10) // what is made once
	before := inUse()
	take(n/10, n)
	each := (inUse() - before) / (n - n/10)
	t.Logf("%d bytes a lock", each)
	require.LessOrEqual(t, each, int64(heldBytes))
	runtime.KeepAlive(locks)
}

// inUse is the number of bytes of the heap that are in use.
func inUse() int64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Not parallel: it counts what the process allocates.
func TestACycleAllocatesNoMoreThanItDid(t *testing.T) {
	s := defaults()
	s.clock = clock.System()
	require.NoError(t, s.apply([]Option{WithNodeTimeout(ttl / 2)})) // so that a stall of the machine does no harm
	l := assemble([]string{"a", "b", "c", "d", "e"}, []node.Transport{lean{}, lean{}, lean{}, lean{}, lean{}}, s)
	ctx := t.Context()
	got := testing.AllocsPerRun(2000, func() {
		lock, err := l.TryLock(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%v allocations a cycle", got)
	require.LessOrEqual(t, got, float64(cycleAllocs))
}
