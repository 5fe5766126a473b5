package clock

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// host is the clocks of a simulated host.
type host struct {
	mono, wall, kernel time.Duration
	readingTakes       time.Duration   // passes before each reading
	lags               []time.Duration // what passes between the two halves of the next readings
	withheld           bool            // the kernel's clock is
	asked              int             // times the kernel's clock was
}

func newHost() *host { return &host{wall: 54 * 365 * 24 * time.Hour, kernel: time.Hour} }

func (h *host) pass(d time.Duration)     { h.mono += d; h.wall += d; h.kernel += d }
func (h *host) suspend(d time.Duration)  { h.wall += d; h.kernel += d }
func (h *host) stepWall(d time.Duration) { h.wall += d }

func (h *host) read() (mono, wall time.Duration) {
	h.pass(h.readingTakes)
	wall = h.wall
	if len(h.lags) > 0 {
		h.pass(h.lags[0])
		h.lags = h.lags[1:]
	}
	return h.mono, wall
}

func (h *host) boot() (time.Duration, bool) {
	h.asked++
	h.pass(h.readingTakes)
	return h.kernel, !h.withheld
}

func (h *host) system() *systemClock { return newSystem(h.read, h.boot) }

func TestSystemIsTheKernelsClock(t *testing.T) {
	t.Parallel()
	h := newHost()
	c := h.system()
	for _, change := range []func(){
		func() {},
		func() { h.pass(time.Second) },
		func() { h.suspend(time.Hour) },
		func() { h.stepWall(time.Hour) },
		func() { h.stepWall(-2 * time.Hour) },
		func() { h.suspend(time.Hour); h.stepWall(-30 * time.Minute) },
	} {
		change()
		require.Equal(t, h.kernel, c.Now())
	}
}

func TestSystemAsksTheKernelOnlyWhenItCanHaveNews(t *testing.T) {
	t.Parallel()
	h := newHost()
	c := h.system()
	asked := h.asked
	for range 1_000 {
		h.pass(99 * time.Microsecond)
		c.Now()
	}
	require.Equal(t, asked, h.asked, "99 ms")
	h.pass(checkEvery)
	c.Now()
	require.Equal(t, asked+1, h.asked)
	h.suspend(2 * slack)
	c.Now()
	c.Now()
	require.Equal(t, asked+2, h.asked)
}

func TestSystemSeesASuspendHiddenByTheWallClockWithinATenthOfASecond(t *testing.T) {
	t.Parallel()
	h := newHost()
	c := h.system()
	h.suspend(time.Hour)
	h.stepWall(-time.Hour)
	require.Equal(t, h.kernel-time.Hour, c.Now(), "nothing shows it")
	h.pass(checkEvery + 1)
	require.Equal(t, h.kernel, c.Now())
}

// Whatever passes, in whatever order, the clock is at no reading behind the kernel's.
func TestSystemNeverFallsAndIsNeverBehindTheKernel(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		h := newHost()
		h.readingTakes = time.Microsecond
		c := h.system()
		last := c.Now()
		for range 100 {
			switch random.IntN(5) {
			case 0:
				h.suspend(time.Duration(random.Int64N(int64(time.Hour))) + 2*slack)
			case 1:
				h.stepWall(time.Duration(random.Int64N(int64(time.Hour))))
			case 2:
				h.lags = []time.Duration{time.Duration(random.Int64N(int64(20 * time.Millisecond)))}
			default:
				h.pass(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
			}
			now := c.Now()
			require.GreaterOrEqual(t, now, last, "the clock fell")
			require.GreaterOrEqual(t, now, h.kernel-h.readingTakes)
			require.LessOrEqual(t, now, h.kernel+25*time.Millisecond)
			last = now
		}
	}
}

func TestSystemIsNotShortOfASuspendThatASlowReadingFound(t *testing.T) {
	t.Parallel()
	h := newHost()
	c := h.system()
	h.suspend(time.Hour)
	h.readingTakes = slack
	c.Now()
	h.readingTakes = 0
	require.GreaterOrEqual(t, c.Now(), h.kernel)
	require.LessOrEqual(t, c.Now(), h.kernel+2*slack)
}

func TestSystemGainsNothingFromSlowReadings(t *testing.T) {
	t.Parallel()
	h := newHost()
	c := h.system()
	h.readingTakes = 40 * time.Millisecond
	for range 100 {
		c.Now()
	}
	require.Greater(t, h.asked, 30)
	h.readingTakes = 0
	require.Equal(t, h.kernel, c.Now())
}

func TestSystemAddsUpWhereTheKernelsClockIsWithheld(t *testing.T) {
	t.Parallel()
	h := newHost()
	h.withheld = true
	c := h.system()
	require.Zero(t, c.Now())
	h.pass(time.Second)
	require.Equal(t, time.Second, c.Now())
	h.suspend(time.Hour)
	require.Equal(t, time.Hour+time.Second, c.Now())
	h.stepWall(-time.Hour)
	require.Equal(t, time.Hour+time.Second, c.Now())
	h.suspend(time.Minute)
	require.Equal(t, time.Hour+time.Minute+time.Second, c.Now())
	require.Equal(t, 1, h.asked, "it is not asked again")
}

func TestSystemRunsOnWhereTheKernelsClockIsWithheldLater(t *testing.T) {
	t.Parallel()
	h := newHost()
	c := h.system()
	h.pass(time.Second)
	require.Equal(t, h.kernel, c.Now())
	h.withheld = true
	h.pass(time.Second)
	require.Equal(t, h.kernel, c.Now())
	h.suspend(time.Hour)
	require.Equal(t, h.kernel, c.Now())
}

func TestSystemGainsNothingFromAThreadThatLosesTheProcessor(t *testing.T) {
	t.Parallel()
	h := newHost()
	h.withheld = true
	c := h.system()
	for range 100 {
		h.pass(time.Millisecond)
		h.lags = []time.Duration{10 * time.Millisecond, 10 * time.Millisecond, 3 * time.Millisecond}
		c.Now()
	}
	require.Equal(t, h.mono, c.Now())
}

func TestSystemOnABusyHostGainsRatherThanLoses(t *testing.T) {
	t.Parallel()
	h := newHost()
	h.withheld = true
	c := h.system()
	for n := range 40 {
		h.lags = append(h.lags, time.Duration(n%2)*10*time.Millisecond)
	}
	for range 10 {
		require.GreaterOrEqual(t, c.Now(), h.mono-10*time.Millisecond)
	}
	require.GreaterOrEqual(t, c.Now(), h.mono)
	require.Empty(t, h.lags)
}

// To count each difference between the two clocks as time would gain a sixth.
func TestSystemKeepsItsRateHoweverOftenItIsRead(t *testing.T) {
	t.Parallel()
	none := func() (time.Duration, bool) { return 0, false }
	for name, boot := range map[string]func() (time.Duration, bool){"boottime": boottime, "none": none} {
		c := newSystem(packageTime(), boot)
		start, began := c.Now(), time.Now()
		var wg sync.WaitGroup
		fell := make([]bool, 4)
		for i := range fell {
			wg.Go(func() {
				for last, n := c.Now(), 0; n < 50_000; n++ {
					now := c.Now()
					fell[i] = fell[i] || now < last
					last = now
				}
			})
		}
		wg.Wait()
		least := time.Since(began)
		passed := c.Now() - start
		require.NotContains(t, fell, true, name)
		require.GreaterOrEqual(t, passed, least-time.Millisecond, name)
		require.LessOrEqual(t, passed, time.Since(began)+5*time.Millisecond, name)
	}
}

func TestSystemStandsStillInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := System().Now()
		time.Sleep(time.Hour)
		// Others may use the clock outside.
		require.Less(t, System().Now()-start, time.Minute)
	})
}
