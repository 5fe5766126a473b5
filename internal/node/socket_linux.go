package node

import (
	"syscall"
	"time"
)

const tcpUserTimeout = 18 // TCP_USER_TIMEOUT of linux/tcp.h, which package syscall does not name

func controlUnacked(fd uintptr, d time.Duration) {
	// An old kernel that refuses it leaves the connection as it was: nothing here depends on it for exclusion.
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
}
