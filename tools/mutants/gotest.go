package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"
)

// ending is what became of one test.
type ending uint8

const (
	absent   ending = iota
	unbuilt         // nor was any other of its package
	timedOut        // or another that ran with it was
	died            // its binary ended, and it had not
	passed
	failed // which it said itself
	skipped
)

func (e ending) String() string {
	return [...]string{
		"did not run: there is none of that name", "was not built: something does not compile", "ran out of time",
		"did not end: its binary died", "passed", "failed", "was skipped",
	}[e]
}

// results are what one run of go test came to.
type results struct {
	ends              map[string]ending
	timedOut, unbuilt bool
	printed           []string
}

func (r *results) of(test string) ending {
	switch {
	case r.unbuilt:
		return unbuilt
	case r.timedOut:
		return timedOut
	}
	return r.ends[test]
}

func (r *results) text() string { return strings.Join(r.printed, "\n") }

// last are so many lines at most, the last ones, of what was printed.
func (r *results) last(n int) []string { return r.printed[max(len(r.printed)-n, 0):] }

// event is one line of go test -json.
type event struct{ Action, Test, Output string }

// stopped is what a test binary says when its time is up.
const stopped = "panic: test timed out after "

func (r *results) read(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		r.printed = append(r.printed, string(line))
		return
	}
	if text := strings.TrimRight(e.Output, "\n"); text != "" {
		r.printed = append(r.printed, text)
		r.timedOut = r.timedOut || strings.Contains(text, stopped)
	}
	switch e.Action {
	case "build-fail":
		r.unbuilt = true
	case "run":
		r.ends[e.Test] = died // unless it says something else yet
	case "pass":
		r.ends[e.Test] = passed
	case "fail": // of a test it stands for the line that begins with --- FAIL, and for nothing else
		r.ends[e.Test] = failed
	case "skip":
		r.ends[e.Test] = skipped
	}
}

// goTest runs the tests of a package that match, with an overlay or without, in the time that so many may take.
func (r runner) goTest(ctx context.Context, pkg, pattern, overlay string, tests int) (*results, error) {
	// What is vetted is what is kept.
	args := []string{"test", "-json", "-vet=off", "-count=1", "-timeout", (time.Duration(tests) * r.limit).String(), "-run", pattern}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CLUSTER=embedded", "REDLOCK_REQUIRE=", "REDLOCK_ADDRS=")
	// Interrupted, go test ends its test binary too; killed, it would leave that behind.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		if _, ended := errors.AsType[*exec.ExitError](err); !ended {
			return nil, err
		}
	}
	got := &results{ends: make(map[string]ending)}
	lines := bufio.NewScanner(bytes.NewReader(append(complaints.Bytes(), out...)))
	lines.Buffer(nil, len(out)+complaints.Len()+1)
	for lines.Scan() {
		got.read(lines.Bytes())
	}
	return got, lines.Err()
}
