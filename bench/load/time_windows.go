package load

import (
	"fmt"
	"syscall"
	"time"
)

// processTime returns the CPU time of this process, user and system.
func processTime() (time.Duration, error) {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0, fmt.Errorf("load: %w", err)
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		return 0, fmt.Errorf("load: process times: %w", err)
	}
	return spent(kernel) + spent(user), nil
}

// spent reads a span of time in units of 100 ns. Filetime's own Nanoseconds takes it
// for a date and subtracts 1970.
func spent(f syscall.Filetime) time.Duration {
	return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
}
