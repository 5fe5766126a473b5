package testcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const moduleLine = "module github.com/quorumlock/go-redlock"

// RunScript runs a script of the project's folder scripts and returns the last line that it prints. It can be used
// from inside the project's work tree only. What the script says beside goes to standard error as it comes.
func RunScript(ctx context.Context, name string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	script := exec.CommandContext(ctx, filepath.Join(root, "scripts", name))
	script.Cancel = func() error { return script.Process.Signal(os.Interrupt) }
	script.WaitDelay = startLimit
	script.Stderr = os.Stderr
	out, err := script.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/%s: %w", name, errors.Join(err, context.Cause(ctx)))
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
}

// moduleRoot returns the folder of the project that the working directory is in.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		first, _, _ := bytes.Cut(mod, []byte("\n"))
		if err == nil && string(bytes.TrimSpace(first)) == moduleLine {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("testcluster: not inside the project's work tree")
		}
		dir = parent
	}
}
