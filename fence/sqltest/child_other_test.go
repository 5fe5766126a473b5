//go:build !unix

package sqltest_test

import (
	"errors"
	"os/exec"
)

func unprivileged(*exec.Cmd, string) error { return errors.ErrUnsupported }
