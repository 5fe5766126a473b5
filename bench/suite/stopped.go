package suite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/load"
)

// wakeTimeout bounds the wait for a node that has been continued.
const wakeTimeout = 10 * time.Second

// stopped compares the library with itself before and after one node is stopped,
// and times what a cycle of redsync takes meanwhile.
func (b *bench) stopped(ctx context.Context) error {
	addrs := b.nodes.Addrs()
	peers := field{contender.RedsyncTimeouts(addrs)}
	if b.SlowPeers {
		peers = append(peers, contender.Redsync(addrs))
	}
	defer peers.close()
	if err := b.greet(ctx, peers); err != nil { // the stop must find connections that stand
		return err
	}
	before := runtime.NumGoroutine()
	library, err := contender.Library(addrs)
	if err != nil {
		return err
	}
	defer field{library}.close()
	if err := b.aroundStop(ctx, BeforeStop, library, before); err != nil {
		return err
	}
	victim := len(addrs) - 1 // not the first, which raw measures alone
	if err := b.nodes.Stop(ctx, victim); err != nil {
		return err
	}
	err = b.aroundStop(ctx, Stopped, library, before)
	if err == nil {
		err = b.timePeers(ctx, peers)
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), wakeTimeout)
	defer cancel()
	return errors.Join(err, b.nodes.Continue(detached, victim), awake(detached, addrs[victim]))
}

func (b *bench) aroundStop(ctx context.Context, section string, library contender.Contender, before int) error {
	for _, callers := range []int{Alone, Many} {
		var s load.Sample
		if err := load.Run(ctx, library, b.keys(callers), b.StoppedWindow, &s); err != nil {
			return fmt.Errorf("%s: %w", section, err)
		}
		b.record(Cell{section, library.Name(), callers}, &s, before)
	}
	return nil
}

// timePeers runs them side by side: they do nothing but wait for the stopped node.
func (b *bench) timePeers(ctx context.Context, peers field) error {
	samples := make([]load.Sample, len(peers))
	errs := make([]error, len(peers))
	var running sync.WaitGroup
	for i, p := range peers {
		key := b.keys(Alone)[0]
		running.Go(func() { errs[i] = load.Timed(ctx, p, key, 1, b.PeerWindow, &samples[i]) })
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, p := range peers {
		b.results.addWait(p.Name(), &samples[i])
	}
	return nil
}

// awake returns when the node at addr has answered.
func awake(ctx context.Context, addr string) error {
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("suite: a continued node does not answer: %w", err)
	}
	return nil
}
