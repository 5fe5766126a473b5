package quorum_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/redlock"
)

// Three nodes' clocks go as fast as an NTP daemon may slew two apart, and holders trust their locks to the very end while others
// try. With the drift that is meant for it nothing is found; with the default, which is for a tenth of that, two holders are, and the
// resource refuses the late one's last write.
func TestNemesisOfClocksFindsTwoHoldersAtARateBeyondTheDriftOnly(t *testing.T) {
	t.Parallel()
	const rate, ttl, locks = fastRate, 600 * time.Millisecond, 10
	for name, tt := range map[string]struct {
		drift []redlock.Option
		found bool
	}{
		"within the drift": {[]redlock.Option{redlock.WithDrift(loadDrift)}, false},
		"beyond the drift": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := beginWithClocks(t)
			terms := append([]redlock.Option{redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl / 4), redlock.WithFencing()}, tt.drift...)
			j := judgeOf(t, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var runners errgroup.Group
			begun := time.Now()
			tr.clocks(0, rate, 0, 2, 4)
			for i := range 3 {
				l := tr.openAt(tr.urls(true), terms...)
				runners.Go(func() error { return tr.runner(ctx, l, j, fmt.Sprint(i, ".")) })
			}
			over := until(time.Minute, func() bool {
				return j.acquisitions.Load() >= locks && (!tt.found || j.overlaps.Load() > 0 && j.stale.Load() > 0)
			})
			tr.ranAhead(tr.looks[2], rate, begun)
			cancel()
			require.NoError(t, runners.Wait())
			tr.clocks(0, 1, 0, 2, 4)
			t.Logf("%d locks held to their end, %d overlaps, %d late writes refused", j.acquisitions.Load(), j.overlaps.Load(), j.stale.Load())
			require.True(t, over, "%v", j)
			j.mustRefuse()
			require.Equal(t, tt.found, j.overlaps.Load() > 0)
			require.True(t, j.stale.Load() > 0 || !tt.found, "no late write was tried")
		})
	}
}

// What finds nothing must be seen to find something: three clocks that go twice as fast make the load's own judge find overlaps. The
// resource refuses the late writes all the same.
func TestNemesisFindsOverlapsWhereClocksGoFarTooFast(t *testing.T) {
	t.Parallel()
	tr := beginWithClocks(t)
	tf := tr.traffic(16, tr.openAt(tr.urls(true), loadTerms...), tr.openAt(tr.urls(true), loadTerms...))
	tf.keys = 4 * loadHot // whoever trusts a lock for too long has somebody else ask for its key at once, however slow the machine is
	tr.clocks(0, 2, 1, 2, 3)
	tf.run(time.Minute, func() bool { return tf.judge.overlaps.Load() > 0 })
	tr.clocks(0, 1, 1, 2, 3)
	t.Log(tf)
	tf.judge.mustRefuse()
}
