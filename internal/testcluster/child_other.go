//go:build !linux

package testcluster

import (
	"context"
	"syscall"
)

// dieWithParent does nothing here: masters of a process that was killed live on until they are ended by hand.
func dieWithParent() *syscall.SysProcAttr { return nil }

// AwaitStill returns at once: whether a process stands still cannot be seen here.
func AwaitStill(context.Context, int) error { return nil }
