//go:build !linux

package clock

import "time"

// boottime reports that no clock which counts suspend can be read here.
func boottime() (time.Duration, bool) { return 0, false }
