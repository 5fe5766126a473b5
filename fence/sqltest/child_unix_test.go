//go:build unix

package sqltest_test

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged makes the child run as somebody who owns dir and nothing else, where this process is root: PostgreSQL refuses
// to be.
func unprivileged(child *exec.Cmd, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		who, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, uidErr := strconv.ParseUint(who.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(who.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return err
	}
	child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(dir, int(uid), int(gid))
}
