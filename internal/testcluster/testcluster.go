package testcluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Backend names a kind of masters.
type Backend string

// The back ends, best first: in this order [ForTest] looks for one that is present.
const (
	Containers Backend = "containers" // real servers in containers; needs the subpackage containers to be linked
	Processes  Backend = "processes"  // real servers as child processes
	Embedded   Backend = "embedded"   // miniredis in this process
	Addresses  Backend = "addresses"  // masters that somebody else runs, named in REDLOCK_ADDRS
)

// Fault names something that not every back end can do to a master. What a [Proxy] does, every back end has.
type Fault string

// The faults, and one ability, that a back end may lack.
const (
	KillKeep  Fault = "kill-keep"  // kill -9 and restart with the data; the cluster must be [Persistent]
	KillEmpty Fault = "kill-empty" // kill -9 and restart without the data
	Stop      Fault = "stop"       // the process stands still and then goes on, as by SIGSTOP and SIGCONT
	Partition Fault = "partition"  // packets are dropped both ways and nobody is told
	Config    Fault = "config"     // the server knows CONFIG SET, ACL, REPLICAOF, CLIENT PAUSE, and takes [ServerArgs]
	Clock     Fault = "clock"      // the wall clock is set while the server runs; the cluster must have [MovableClocks]
)

// StartOption changes how [Start] starts the masters.
type StartOption func(*Settings)

// Persistent makes the masters write every change to disk before they answer, so that they can be killed and keep
// their data. Without it no master writes anything to disk.
func Persistent() StartOption { return func(s *Settings) { s.Persistent = true } }

// ServerArgs adds command line arguments for redis-server, such as "--requirepass", "secret". Back ends without
// [Config] refuse to start with them: [errors.ErrUnsupported].
func ServerArgs(args ...string) StartOption {
	return func(s *Settings) { s.Args = append(s.Args, args...) }
}

// Cluster is a number of masters that know nothing of each other. Its methods may be called concurrently.
type Cluster struct {
	Backend Backend
	Nodes   []*Node

	closeOnce sync.Once
	closeErr  error
}

// Start starts n masters and returns when each of them answers PING. ctx bounds the start only: the cluster lives
// until Close. After an error nothing is left running.
func Start(ctx context.Context, b Backend, n int, opts ...StartOption) (*Cluster, error) {
	var s Settings
	for _, opt := range opts {
		opt(&s)
	}
	launcher, err := launcherOf(b)
	if err != nil {
		return nil, err
	}
	if err := launcher.Present(ctx); err != nil {
		return nil, fmt.Errorf("testcluster: %s are not to be had: %w", b, err)
	}
	given, err := givenAddrs(b, n)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Backend: b, Nodes: make([]*Node, n)}
	g, startCtx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error {
			node, err := startNode(startCtx, b, launcher, s.of(i), given[i])
			c.Nodes[i] = node
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, errors.Join(fmt.Errorf("testcluster: %s: %w", b, err), c.Close())
	}
	return c, nil
}

// Close ends all masters and proxies and removes what they kept on disk; those of [Addresses] are left running. It
// returns when they are gone. A second call returns the error of the first.
func (c *Cluster) Close() error {
	c.closeOnce.Do(func() {
		errs := make([]error, len(c.Nodes))
		var all sync.WaitGroup
		for i, n := range c.Nodes {
			if n != nil { // nil: it did not start
				all.Go(func() { errs[i] = n.close() })
			}
		}
		all.Wait()
		c.closeErr = errors.Join(errs...)
	})
	return c.closeErr
}

// Addrs returns what clients dial, in the order of the nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}
