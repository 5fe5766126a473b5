package quorum_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	_ "github.com/quorumlock/go-redlock/internal/testcluster/containers" // the best masters there are
)

// side is how many tests run side by side where -parallel does not say so: most of them wait most of the time.
const side = 6

// TestMain also plays the other processes that some tests need, and holds at the end that the tests left nothing.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	redis.SetLogger(silent{}) // it tells of every dial that fails, and here most are meant to
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		n := side
		if os.Getenv("REDLOCK_ADDRS") != "" {
			n = 1 // those masters are there once
		}
		if err := flag.Set("test.parallel", fmt.Sprint(n)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	if !idle.close() || code == 0 && !goroutinesEnded() {
		code = 1
	}
	os.Exit(code)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// goroutinesEnded waits until none of the library's, the clients' or the tests' own is left.
func goroutinesEnded() bool {
	var left []string
	if until(10*time.Second, func() bool { left = strays(); return len(left) == 0 }) {
		return true
	}
	fmt.Fprintf(os.Stderr, "goroutines are left after all tests:\n%s\n", strings.Join(left, "\n\n"))
	return false
}

// strays returns the stacks of goroutines that should have ended by the end.
func strays() []string {
	var left []string
	for _, stack := range stacks() {
		expected := strings.Contains(stack, "TestMain(") || strings.Contains(stack, "sampleTimers(") // always there
		ours := strings.Contains(stack, module) || strings.Contains(stack, goRedis)
		if ours && !expected && !strings.Contains(stack, upstreams) {
			left = append(left, stack)
		}
	}
	return left
}

// upstreams is in the stack of a goroutine that go-redis leaves behind for some of the clients on default options.
const upstreams = "newCircuitBreakerManager"

func stacks() []string {
	text := make([]byte, 8<<20)
	return strings.Split(string(text[:runtime.Stack(text, true)]), "\n\n")
}

// goroutineCount is how many there are, without those of the masters and of upstream.
func goroutineCount() int {
	n := testcluster.Goroutines()
	for _, stack := range stacks() {
		if strings.Contains(stack, upstreams) {
			n--
		}
	}
	return n
}

// until returns when done does, and false when it did not within limit.
func until(limit time.Duration, done func() bool) bool {
	for deadline := time.Now().Add(limit); ; time.Sleep(2 * time.Millisecond) {
		if done() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// bounded is a context for what a test does beside its subject.
func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}
