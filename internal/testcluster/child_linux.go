package testcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// dieWithParent makes the kernel kill a child when the thread that started it ends, which is when this process ends:
// Go ends a thread early only for a goroutine that ends while locked to it, and none that starts a child does.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// AwaitStill returns when the process that was sent SIGSTOP stands still: the signal is delivered a little later than
// it is sent. A process that cannot be seen from here is taken to. It gives up when ctx ends, or after 30 s.
func AwaitStill(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return nil
		}
		// The state follows the name, which is in parentheses and may contain some.
		if end := bytes.LastIndexByte(stat, ')'); end > 0 && bytes.HasPrefix(stat[end+1:], []byte(" T")) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("testcluster: process %d does not stand still: %w", pid, context.Cause(ctx))
		}
		time.Sleep(100 * time.Microsecond)
	}
}
