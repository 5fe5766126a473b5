//go:build !linux

package node

import "time"

func controlUnacked(uintptr, time.Duration) {}
