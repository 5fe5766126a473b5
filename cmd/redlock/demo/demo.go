// Package demo tells a story on five masters: a lock is taken, masters die one by one while another client tries in vain,
// and everything is well again when they are back. What it says it has checked: a claim that does not hold ends it.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// Embedded is the back end that is there on every machine.
const Embedded = string(testcluster.Embedded)

const (
	masters     = 5
	quorum      = masters/2 + 1
	key         = "demo:stock"
	ttl         = time.Minute
	nodeTimeout = 200 * time.Millisecond
	// bound is how long an attempt may take with any number of silent nodes: two rounds, and what a scheduler costs.
	bound = 2*nodeTimeout + 50*time.Millisecond
	// healing bounds the wait for masters that are back: a client may ask for them only once a second.
	healing = 5 * time.Second
)

// about says what the masters of a back end are.
var about = map[testcluster.Backend]string{
	testcluster.Embedded:   "embedded in this program, which runs anywhere; CLUSTER=containers or processes takes real ones",
	testcluster.Processes:  "redis-server processes",
	testcluster.Containers: "redis-server in containers",
}

// Run starts the masters of the named back end, tells the story to out and ends the masters again, also when ctx ends
// first, which is its error then. It returns nil when everything it claimed was so.
func Run(ctx context.Context, out io.Writer, backend string) (err error) {
	what, ok := about[testcluster.Backend(backend)]
	if !ok {
		return fmt.Errorf("demo: no masters of the kind %q: it is embedded, processes or containers", backend)
	}
	s := newScreen(out)
	s.say("Five independent Redis masters, %s.", what)
	cluster, err := testcluster.Start(ctx, testcluster.Backend(backend), masters, testcluster.Persistent())
	if err != nil {
		return orEnded(ctx, fmt.Errorf("demo: %w", err))
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()

	st, err := newStory(ctx, cluster, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close(ctx)) }()
	return orEnded(ctx, st.tell(ctx))
}

// orEnded returns err, or ctx's own where that has ended: what failed then, failed because of it.
func orEnded(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
