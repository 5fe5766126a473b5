package quorum_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Spans in which a bare timer is later than this say nothing of a load, unless it is to be held on a machine that has time for it.
const (
	starved = 100 * time.Millisecond
	never   = time.Hour
)

// pace is how many acquisitions there were by when.
type pace struct {
	total   *atomic.Int64
	counted []counted // a second apart
}

type counted struct {
	at    time.Time
	total int64
	late  time.Duration // the worst of a bare timer since the reading before
}

// watch takes a reading every second until ctx ends.
func (p *pace) watch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var late time.Duration
	for ctx.Err() == nil {
		p.counted = append(p.counted, counted{time.Now(), p.total.Load(), late})
		w := watchTimers()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		late = w.close()
	}
}

// slowest is the least acquisitions a second between readings that lie so far apart, and of how many such spans: those in which a bare
// timer was later than it may be are left out.
func (p *pace) slowest(apart int, late time.Duration) (least float64, spans int) {
	for i := apart; i < len(p.counted); i++ {
		first, last, worst := p.counted[i-apart], p.counted[i], time.Duration(0)
		for _, c := range p.counted[i-apart+1 : i+1] {
			worst = max(worst, c.late)
		}
		if worst > late {
			continue
		}
		rate := float64(last.total-first.total) / last.at.Sub(first.at).Seconds()
		if spans++; spans == 1 || rate < least {
			least = rate
		}
	}
	return least, spans
}

func (p *pace) String() string {
	second, _ := p.slowest(1, never)
	five, spans := p.slowest(5, never)
	calm, counts := p.slowest(5, starved)
	return fmt.Sprintf("acquisitions a second: %.0f in the slowest, %.0f in the slowest five, %.0f in those %d of %d with a bare timer never %v late",
		second, five, calm, counts, spans, starved)
}

// The pace is that of the slowest span, and of none where there was none.
func TestNemesisPaceIsThatOfTheSlowestSpan(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	var p pace
	total := int64(0)
	for second, n := range []int64{0, 900, 100, 800, 600, 10} {
		total += n
		p.counted = append(p.counted, counted{begin.Add(time.Duration(second) * time.Second), total, time.Duration(n / 100)})
	}
	for _, tt := range []struct {
		apart int
		late  time.Duration
		least float64
		spans int
	}{
		{1, never, 10, 5},
		{2, never, 305, 4},
		{5, never, 2410.0 / 5, 1},
		{6, never, 0, 0},
		{1, 8, 10, 4},
		{2, 8, 305, 3},
		{2, 6, 305, 1},
		{5, 8, 0, 0},
	} {
		least, spans := p.slowest(tt.apart, tt.late)
		require.InDelta(t, tt.least, least, 1e-9, "%+v", tt)
		require.Equal(t, tt.spans, spans, "%+v", tt)
	}
}
