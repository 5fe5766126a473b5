package testcluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
)

// Ports come from below the range that systems draw from for outgoing connections, so nobody takes the port of a
// master while it is dead by accident. The range is cut into blocks. A process owns a block while it listens on the
// first port of it, so two test binaries that run side by side never draw the same port either.
const (
	portsBegin = 10000
	portsEnd   = 30000
	blockSize  = 250
)

// ports hands out the ports of the blocks that this process owns. A port that was given back waits behind all others
// before it is used again, since clients of a closed cluster may still be dialling it.
var ports struct {
	mu     sync.Mutex
	guards []net.Listener // kept open until the process ends
	free   []int
}

// takePort returns a loopback address that nobody listens on.
func takePort() (string, error) {
	ports.mu.Lock()
	defer ports.mu.Unlock()
	for {
		if len(ports.free) == 0 {
			if err := claimBlockLocked(); err != nil {
				return "", err
			}
		}
		port := ports.free[0]
		ports.free = ports.free[1:]
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			continue // some other service's
		}
		return addr, ln.Close()
	}
}

func givePort(addr string) {
	_, text, _ := net.SplitHostPort(addr)
	port, err := strconv.Atoi(text)
	if err != nil {
		return // not one of ours: an address from outside
	}
	ports.mu.Lock()
	defer ports.mu.Unlock()
	if !slices.Contains(ports.free, port) {
		ports.free = append(ports.free, port)
	}
}

func claimBlockLocked() error {
	blocks := (portsEnd - portsBegin) / blockSize
	for i := range blocks {
		first := portsBegin + (os.Getpid()+i)%blocks*blockSize
		guard, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first))
		if err != nil {
			continue
		}
		ports.guards = append(ports.guards, guard)
		for port := first + 1; port < first+blockSize; port++ {
			ports.free = append(ports.free, port)
		}
		return nil
	}
	return errors.New("testcluster: no free block of ports")
}
