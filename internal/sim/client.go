package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/quorumlock/go-redlock/redlock"
)

// client is a process with a Locker.
type client struct {
	world   *world
	index   int
	ppm     int64         // its clock's rate
	late    time.Duration // by so much its timers are late
	timeout time.Duration // of a node, by its clock
	pauses  windows       // it does nothing: a garbage collection, a SIGSTOP
	dice    dice          // of what it does
	links   []*link       // by node
	locker  *redlock.Locker
}

// other is the same client in another goroutine, which throws dice of its own.
func (c *client) other(d dice) *client {
	return &client{
		world: c.world, index: c.index, ppm: c.ppm, late: c.late, timeout: c.timeout, pauses: c.pauses, dice: d, links: c.links, locker: c.locker,
	}
}

// local is what its clock shows.
func (c *client) local(t time.Duration) time.Duration { return rated(t, c.ppm) }

// awake is when the client does what is to be done at a time: at once, or after its pause.
func (c *client) awake(t time.Duration, d *dice) time.Duration {
	if w, paused := c.pauses.at(t); paused {
		return w.to + d.between(time.Microsecond, 200*time.Microsecond)
	}
	return t
}

// departs is when a batch that is ready now leaves. Where a pause is near it comes in between at times.
func (c *client) departs(now time.Duration, d *dice) time.Duration {
	if w, near := c.pauses.begin(now, now+20*time.Millisecond); near && d.often(300) {
		now = w.from
	}
	return c.awake(now, d)
}

// nap passes time by the client's clock.
func (c *client) nap(length time.Duration) {
	w := c.world
	w.sleepUntil(c.awake(w.now()+unrated(length, c.ppm), &c.dice))
}

func (c *client) name() string { return "c" + strconv.Itoa(c.index+1) }

// clock is the client's, for its Locker.
type clock struct{ client *client }

func (k clock) Now() time.Duration { return k.client.local(k.client.world.now()) }

func (k clock) Wall() time.Time { return k.client.world.epoch.Add(k.Now()) }

// AfterFunc calls f once d has passed by the client's clock, a little late, and not in a pause.
func (k clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c, now := k.client, k.client.world.now()
	at := unrated(c.local(now)+d, c.ppm) + c.late
	if w, paused := c.pauses.at(at); paused {
		at = w.to + c.late + (at-w.from)/1000 // in their order, and no two of them at once
	}
	return time.AfterFunc(at-now, f).Stop
}

func (k clock) String() string {
	return fmt.Sprintf("the clock of %s, %+d ppm", k.client.name(), k.client.ppm)
}
