package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// lead is between the order and the barrier: every member has read it by then.
	lead = 50 * time.Millisecond
	// leave is what a member gets to close its connections.
	leave = 10 * time.Second
)

// Crew is running processes, warm, that wait for a window. It is used by one
// goroutine at a time.
type Crew struct{ members []*process }

// process is a member, seen from outside.
type process struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	windows *json.Encoder
	reports *json.Decoder
}

// Build makes the program of a member in a folder, and returns its path. It has to be called inside this module.
func Build(ctx context.Context, folder string) (program string, err error) {
	program = filepath.Join(folder, "member")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/quorumlock/go-redlock/bench/member")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("crew: go build: %w\n%s", err, said)
	}
	return program, nil
}

// Start starts the program for each order and returns when all are warm. It is the
// one that Build made, or any that calls ServeIfAsked first thing in main (or
// TestMain). When ctx ends they are killed. After an error none is left running.
func Start(ctx context.Context, program string, orders []Order) (_ *Crew, err error) {
	c := &Crew{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	for i := range orders {
		p, err := start(ctx, program, &orders[i])
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, p)
	}
	for _, p := range c.members {
		if err := p.reports.Decode(&Report{}); err != nil {
			return nil, fmt.Errorf("crew: a member did not get warm: %w", err)
		}
	}
	return c, nil
}

func start(ctx context.Context, program string, o *Order) (*process, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("crew: %w", err)
	}
	p := &process{cmd: exec.CommandContext(ctx, program)}
	p.cmd.Env = append(os.Environ(), environ+"="+string(text))
	p.cmd.Stderr = os.Stderr
	p.cmd.WaitDelay = time.Second
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("crew: %w", err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("crew: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("crew: %w", err)
	}
	p.windows, p.reports = json.NewEncoder(p.stdin), json.NewDecoder(stdout)
	return p, nil
}

// Barrier returns the window whose barrier falls in a moment.
func Barrier(key string, length, drain time.Duration) Window {
	return Window{Key: key, From: time.Now().Add(lead).UnixNano(), Length: length, Drain: drain}
}

// Run has all members take turns through w and returns their reports, in the order
// of Start. Between, at the window's end while those who wait are still waiting, it
// calls atEnd.
func (c *Crew) Run(w Window, atEnd func()) ([]*Report, error) {
	for _, p := range c.members {
		if err := p.windows.Encode(&w); err != nil {
			return nil, fmt.Errorf("crew: %w", err)
		}
	}
	time.Sleep(time.Until(time.Unix(0, w.From).Add(w.Length)))
	atEnd()
	reports := make([]*Report, len(c.members))
	for i, p := range c.members {
		reports[i] = &Report{}
		if err := p.reports.Decode(reports[i]); err != nil {
			return nil, fmt.Errorf("crew: member %d: %w", i, err)
		}
	}
	return reports, nil
}

// Close ends all members.
func (c *Crew) Close() error {
	for _, p := range c.members {
		_ = p.stdin.Close() // a member ends at the end of its standard input
	}
	errs := make([]error, 0, len(c.members))
	for _, p := range c.members {
		errs = append(errs, p.end())
	}
	return errors.Join(errs...)
}

func (p *process) end() error {
	guard := time.AfterFunc(leave, func() { _ = p.cmd.Process.Kill() })
	defer guard.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("crew: a member: %w", err)
	}
	return nil
}

// Newcomer runs a process that takes one turn in the order's window and is gone.
func Newcomer(ctx context.Context, program string, o Order) (*Report, error) {
	p, err := start(ctx, program, &o)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	err = p.reports.Decode(r)
	_ = p.stdin.Close()
	if err = errors.Join(err, p.end()); err != nil {
		return nil, err
	}
	return r, nil
}
