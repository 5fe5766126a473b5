// Package servers runs the masters that are measured: redis-server processes on
// loopback, reached without a proxy in between.
package servers

import (
	"context"
	"fmt"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// Servers are running masters without persistence.
type Servers struct {
	cluster *testcluster.Cluster
	addrs   []string
}

// Start starts n masters. ctx bounds the start only. After an error none is left running.
func Start(ctx context.Context, n int) (*Servers, error) {
	cluster, err := testcluster.Start(ctx, testcluster.Processes, n)
	if err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	s := &Servers{cluster: cluster}
	for _, node := range cluster.Nodes {
		s.addrs = append(s.addrs, node.Direct())
	}
	return s, nil
}

// Addrs returns the masters' own addresses, in order.
func (s *Servers) Addrs() []string { return s.addrs }

// Stop makes master i stand still by SIGSTOP.
func (s *Servers) Stop(ctx context.Context, i int) error { return s.cluster.Nodes[i].Stop(ctx) }

// Continue lets master i go on.
func (s *Servers) Continue(ctx context.Context, i int) error { return s.cluster.Nodes[i].Continue(ctx) }

// Close ends all masters.
func (s *Servers) Close() error { return s.cluster.Close() }
