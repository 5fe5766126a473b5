package redlock

import (
	"testing"

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
	require.LessOrEqual(t, got, float64(cycleAllocs))
}
