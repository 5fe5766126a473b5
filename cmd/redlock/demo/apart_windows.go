package demo

import "syscall"

// apart puts a child into a process group of its own, so that the console's Ctrl-C does not reach it.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
