//go:build unix

package testcluster

import (
	"errors"
	"os"
	"syscall"
)

const canSignal = true

func standStill(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func goOn(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// isGone reports whether there certainly is no process of that number.
func isGone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
