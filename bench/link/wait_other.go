//go:build !linux

package link

import "time"

// waiter waits for an instant. Outside Linux the scheduler sleeps in nanoseconds,
// so a Go timer is precise enough.
type waiter struct{}

func newWaiter() (*waiter, error) { return &waiter{}, nil }

// until returns at due, or at once where that has passed.
func (*waiter) until(due time.Time) { time.Sleep(time.Until(due)) }
