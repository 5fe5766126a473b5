//go:build !unix

package testcluster

import (
	"errors"
	"os"
)

const canSignal = false

func standStill(*os.Process) error { return errors.ErrUnsupported }

func goOn(*os.Process) error { return errors.ErrUnsupported }

// isGone reports whether there certainly is no process of that number, which is not known here.
func isGone(int) bool { return false }
