package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// TB is what [ForTest] needs of a test: *testing.T, *testing.B and *testing.F have it. Package testing is not imported
// since the demo links this package.
type TB interface {
	Helper()
	Cleanup(f func())
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Name() string
}

const (
	chooseVariable  = "CLUSTER"
	requireVariable = "REDLOCK_REQUIRE"

	// setupLimit bounds the start of a cluster, the building of an image included.
	setupLimit = 5 * time.Minute
)

// ForTest starts n masters on the best back end that is present and closes them when the test ends. Which one it is
// is printed to standard error once a process. The environment chooses: CLUSTER=containers, processes or embedded
// forces one, REDLOCK_ADDRS=host:port,... uses the masters at those addresses. A back end that is forced and cannot
// start fails the test; one that lacks what an option asks for skips it. With REDLOCK_REQUIRE=containers anything but
// containers, and any skip, fails the test.
func ForTest(tb TB, n int, opts ...StartOption) *Cluster {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	b := choose(ctx)
	if required := os.Getenv(requireVariable); required != "" && required != string(b) {
		tb.Fatalf("testcluster: %s are required, %s would be used: %v", required, b, Present(ctx, Backend(required)))
	}
	c, err := Start(ctx, b, n, opts...)
	if errors.Is(err, errors.ErrUnsupported) {
		skip(tb, "%v", err)
	}
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Fatalf("testcluster: close: %v", err)
		}
	})
	return c
}

// Need skips the test where the back end of c cannot make the fault f. With REDLOCK_REQUIRE set the test fails instead.
func Need(tb TB, c *Cluster, f Fault) {
	tb.Helper()
	for _, n := range c.Nodes {
		if !n.Can(f) {
			skip(tb, "testcluster: %s cannot make the fault %q here", c.Backend, f)
		}
	}
}

// skip ends the test, as a failure where skips are not allowed.
func skip(tb TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv(requireVariable) != "" {
		tb.Fatalf("testcluster: no skip is allowed with "+requireVariable+": "+format, args...)
	}
	tb.Skipf(format, args...)
}

// choose returns the back end to use, forced or the best that is present, and says once which it is.
func choose(ctx context.Context) Backend {
	if forced := os.Getenv(chooseVariable); forced != "" {
		announce(Backend(forced))
		return Backend(forced)
	}
	if os.Getenv(addrsVariable) != "" {
		announce(Addresses)
		return Addresses
	}
	b, missing := bestPresent(ctx)
	announce(b, missing...)
	return b
}

// best is what bestPresent found; a process looks once.
var best struct {
	mu      sync.Mutex
	found   Backend
	missing []string // why not a better one
}

func bestPresent(ctx context.Context) (found Backend, missing []string) {
	best.mu.Lock()
	defer best.mu.Unlock()
	if best.found != "" {
		return best.found, best.missing
	}
	best.found = Embedded // always present
	for _, b := range []Backend{Containers, Processes} {
		err := Present(ctx, b)
		if err == nil {
			best.found = b
			break
		}
		best.missing = append(best.missing, fmt.Sprintf("; no %s: %v", b, err))
	}
	return best.found, best.missing
}

var announced sync.Once

func announce(b Backend, missing ...string) {
	announced.Do(func() {
		fmt.Fprintf(os.Stderr, "testcluster: the masters are %s%s\n", b, strings.Join(missing, ""))
	})
}
