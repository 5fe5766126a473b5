package link

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// waiter waits for an instant with the precision of the kernel's timers. A Go timer
// would not do: on Linux the scheduler sleeps in epoll_wait, in whole milliseconds.
type waiter struct {
	fd   int
	file *os.File // keeps fd open, and parks its reader in the poller
}

func newWaiter() (*waiter, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("link: timerfd: %w", err)
	}
	return &waiter{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// until returns at due, or at once where that has passed. One goroutine at a time.
func (w *waiter) until(due time.Time) {
	left := time.Until(due)
	if left <= 0 {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
	if err := unix.TimerfdSettime(w.fd, 0, &spec, nil); err != nil {
		panic(fmt.Sprintf("link: timerfd: %v", err)) // only a bad descriptor or value
	}
	var expirations [8]byte
	if _, err := w.file.Read(expirations[:]); err != nil {
		panic(fmt.Sprintf("link: timerfd: %v", err))
	}
}
