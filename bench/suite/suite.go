package suite

import (
	"context"
	"fmt"
	"runtime"

	"github.com/quorumlock/go-redlock/bench/contender"
	"github.com/quorumlock/go-redlock/bench/link"
)

// Nodes are the masters that everything is measured on.
type Nodes interface {
	Addrs() []string
	// Stop makes node i hang, as SIGSTOP does: it accepts and answers nothing.
	Stop(ctx context.Context, i int) error
	// Continue undoes Stop.
	Continue(ctx context.Context, i int) error
}

// bench is one run.
type bench struct {
	Settings
	nodes   Nodes
	results *Results
	say     func(format string, args ...any)
	windows int // measured so far: makes the callers' keys unique in the run
}

// Run measures what s asks for. say is told how far it is. After an error the
// results are not to be used; every node answers again in any case.
func Run(ctx context.Context, s Settings, nodes Nodes, say func(format string, args ...any)) (*Results, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	b := &bench{Settings: s, nodes: nodes, results: &Results{Nodes: len(nodes.Addrs())}, say: say}
	var links *link.Links
	if s.includes(Link) {
		var err error
		if links, err = link.Start(ctx, nodes.Addrs(), s.RoundTrip); err != nil {
			return nil, err
		}
		defer func() { _ = links.Close() }()
	}
	for round := range s.Rounds {
		say("round %d of %d", round+1, s.Rounds)
		if err := b.round(ctx, round, links); err != nil {
			return nil, fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	if s.includes(Renewal) {
		if err := b.renewal(ctx); err != nil {
			return nil, err
		}
	}
	if s.includes(Memory) {
		if err := b.memory(ctx); err != nil {
			return nil, err
		}
	}
	return b.results, nil
}

func (b *bench) round(ctx context.Context, round int, links *link.Links) error {
	if b.includes(Healthy) {
		if err := b.healthy(ctx, round); err != nil {
			return err
		}
	}
	if b.includes(Link) {
		if err := b.distant(ctx, round, links.Addrs); err != nil {
			return err
		}
	}
	if b.includes(Stopped) {
		return b.stopped(ctx)
	}
	return nil
}

// healthy compares them all with every node at hand. The fan is the floor of one
// acquisition, so it runs alone only; what a fence costs shows without a crowd.
func (b *bench) healthy(ctx context.Context, round int) error {
	before := runtime.NumGoroutine()
	field, err := openAll(b.nodes.Addrs())
	if err != nil {
		return err
	}
	defer field.close()
	if err := b.greet(ctx, field); err != nil {
		return err
	}
	for _, callers := range []int{Alone, Many, Crowd} {
		in := field
		switch callers {
		case Many:
			in = field.without(contender.FanName)
		case Crowd:
			in = field.without(contender.FanName, contender.FencedName)
		}
		if err := b.interleave(ctx, plan{Healthy, round, callers, before}, in); err != nil {
			return err
		}
	}
	return nil
}

// distant compares them over the links. A raw SET with 128 callers would mostly
// measure the default size of its client's pool, and no budget asks for it.
func (b *bench) distant(ctx context.Context, round int, addrs []string) error {
	before := runtime.NumGoroutine()
	opened, err := openAll(addrs)
	if err != nil {
		return err
	}
	defer opened.close()
	field := opened.without(contender.FencedName)
	if err := b.greet(ctx, field); err != nil {
		return err
	}
	for _, callers := range []int{Alone, Some, Many} {
		in := field
		switch callers {
		case Some:
			in = field.without(contender.FanName)
		case Many:
			in = field.without(contender.FanName, contender.RawName)
		}
		if err := b.interleave(ctx, plan{Link, round, callers, before}, in); err != nil {
			return err
		}
	}
	return nil
}
