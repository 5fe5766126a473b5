//go:build unix

package load

import (
	"fmt"
	"syscall"
	"time"
)

// processTime returns the CPU time of this process, user and system.
func processTime() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, fmt.Errorf("load: getrusage: %w", err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}
