//go:build unix

package quorum_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

func init() {
	roles["stopper"] = contendAndStop
}

// contendAndStop is contend of a process that stands still in the moment in which it is named, before it knows.
func contendAndStop(*redlock.Locker) error {
	l, err := redlock.Open(strings.Split(os.Getenv(urlsVariable), ","), redlock.WithPrefix(os.Getenv(prefixVariable)),
		redlock.WithNodeTimeout(askedTimeout), redlock.WithClientOptions(func(o *redis.Options) { o.Dialer = dialStopping }))
	if err != nil {
		return err
	}
	return contend(l)
}

func dialStopping(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return stopping{c.(*net.TCPConn)}, nil
}

// stopping is a connection that stops the process when a hint comes.
type stopping struct{ *net.TCPConn }

func (c stopping) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if got := p[:n]; bytes.Contains(got, []byte("\r\nmessage\r\n")) && bytes.Contains(got, []byte("~w:")) {
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			return 0, err
		}
	}
	return n, err
}

// A quarter of the waiters stand still for a while each time they are named: what they were told is lost, and the others have
// the lock within the bound of the poll. Some may have been asking at that moment, and took what they had got with them.
func TestANamedWaiterThatStandsStillCostsThePollAtMost(t *testing.T) {
	needQueues(t)
	tr := begin(t)
	const stoppers = crewSize / 4
	c := tr.crew(append(times(stoppers, "stopper"), times(crewSize-stoppers, "contender")...)...)
	var stops atomic.Int64
	ctx, end := context.WithTimeout(t.Context(), 3*time.Second)
	defer end()
	var waking sync.WaitGroup
	for _, m := range c.members[:stoppers] {
		waking.Go(func() {
			for testcluster.AwaitStill(ctx, m.cmd.Process.Pid) == nil {
				time.Sleep(700 * time.Millisecond)
				if err := m.cmd.Process.Signal(syscall.SIGCONT); err != nil {
					t.Errorf("continue: %v", err)
					return
				}
				stops.Add(1)
			}
		})
	}
	c.duringDeaths("named waiters stand still", func() int {
		<-ctx.Done()
		waking.Wait()
		return int(stops.Load())
	})
	t.Logf("%d stops", stops.Load())
	require.Greater(t, int(stops.Load()), stoppers, "they are named again when they are back")
	for _, m := range c.members[:stoppers] {
		require.NoError(t, m.cmd.Process.Kill()) // one that stands still hears nothing else
	}
	c.end(c.members[:stoppers]...)
}
