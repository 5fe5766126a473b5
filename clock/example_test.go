package clock_test

import (
	"fmt"
	"time"

	"github.com/quorumlock/go-redlock/clock"
)

// A test steps a Manual clock by hand: nothing waits, and what was due has been
// called when Advance returns.
func ExampleManual() {
	c := clock.NewManual(time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC))
	c.AfterFunc(2*time.Second, func() { fmt.Println("warned at", c.Now()) })
	end := c.AfterFunc(5*time.Second, func() { fmt.Println("ended at", c.Now()) })

	c.Advance(3 * time.Second)
	fmt.Println("stopped:", end())
	c.Advance(time.Hour)

	// Somebody turns the wall clock; the time that has passed is the same.
	c.StepWall(-24 * time.Hour)
	fmt.Println(c.Now(), c.Wall().Format(time.DateTime))

	// Output:
	// warned at 2s
	// stopped: true
	// 1h0m3s 2024-02-28 13:00:03
}

// A lease is measured by Now: no change of the wall clock makes it longer.
func ExampleSystem() {
	c := clock.System()
	start := c.Now()
	const ttl = time.Minute
	fmt.Println(c.Now()-start < ttl)
	// Output: true
}
