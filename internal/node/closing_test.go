package node

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// closing is a Close under way.
type closing struct {
	r        *rig
	done     chan struct{}
	err      error
	returned time.Duration
}

func (r *rig) startClose(ctx context.Context) *closing {
	c := &closing{r: r, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = r.Close(ctx)
		c.returned = r.clock.Now()
	}()
	synctest.Wait()
	return c
}

func (c *closing) requireOpen() {
	c.r.t.Helper()
	synctest.Wait()
	select {
	case <-c.done:
		require.Fail(c.r.t, "Close returned", "%v at %v", c.err, c.returned)
	default:
	}
}

func (c *closing) requireReturn(at time.Duration, err error) {
	c.r.t.Helper()
	<-c.done
	require.Equal(c.r.t, err, c.err)
	require.Equal(c.r.t, at, c.returned)
}
