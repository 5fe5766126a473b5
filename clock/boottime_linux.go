package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of <linux/time.h>, the same on every
// architecture: like the monotonic clock, and it counts suspended time.
const clockBoottime = 7

// boottime returns the time since the host was started, suspended time included,
// and whether the kernel told it.
func boottime() (time.Duration, bool) {
	// syscall.Timespec has the layout that this system call expects on every
	// architecture; 32 bits of seconds, where it has no more, suffice for an uptime.
	var ts syscall.Timespec
	// Raw, because the call never blocks: the scheduler need not know of it.
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
