//go:build unix

package demo

import "syscall"

// apart puts a child into a process group of its own, so that the terminal's signals do not reach it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
