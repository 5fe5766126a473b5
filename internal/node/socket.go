package node

import (
	"context"
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"
)

// unackedLimit is how long bytes may wait for the other side's kernel. Without it a SET that the kernel still holds for a
// connection closed long ago is retransmitted when a partition heals, and a key of ours appears out of nowhere.
const unackedLimit = 2 * time.Second

// hooked holds the clients that have the hook. A hook cannot be removed, so a client of many Groups must get just one; the
// reference is weak, so that no client is kept alive by it.
var hooked sync.Map // of weak.Pointer[redis.Client]

// LimitUnacked bounds, on every connection the client dials from now on, how long sent bytes may stay unacknowledged
// (TCP_USER_TIMEOUT; Linux only). It may be called from several goroutines, and again for the same client.
func LimitUnacked(client *redis.Client) {
	ref := weak.Make(client)
	if _, loaded := hooked.LoadOrStore(ref, struct{}{}); loaded {
		return
	}
	runtime.AddCleanup(client, func(ref weak.Pointer[redis.Client]) { hooked.Delete(ref) }, ref)
	client.AddHook(dialHook(setUnackedLimit))
}

// DiscardOnClose lets every connection the client dials from now on drop what it has not sent yet when it is closed
// (SO_LINGER 0). The other side sees a reset at every close, so it is for clients of our own only.
func DiscardOnClose(client *redis.Client) {
	client.AddHook(dialHook(func(c net.Conn) {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // what cannot be set costs a second way of the same protection, not the connection
		}
	}))
}

func setUnackedLimit(c net.Conn) {
	if _, ok := c.RemoteAddr().(*net.TCPAddr); !ok {
		return
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return // a custom dialer's type that hides its socket
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { controlUnacked(fd, unackedLimit) })
}

// dialHook is a go-redis hook that does something to every new connection before it is used.
type dialHook func(net.Conn)

// DialHook wraps the client's dialling.
func (h dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err == nil {
			h(belowTLS(c))
		}
		return c, err
	}
}

// ProcessHook changes nothing.
func (h dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook changes nothing.
func (h dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// belowTLS is the connection that a TLS connection, or one that shows its inside the same way, runs over.
func belowTLS(c net.Conn) net.Conn {
	for {
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		inner := outer.NetConn()
		if inner == nil {
			return c // a custom dialer's type that hides what it runs over
		}
		c = inner
	}
}
