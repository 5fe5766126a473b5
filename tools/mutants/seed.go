package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// seed puts patched copies of the files that the mutant touches into an empty folder, and an overlay for go test there, whose
// name it returns.
func (r runner) seed(ctx context.Context, m mutant, dir string) (overlay string, err error) {
	root, err := filepath.Abs(r.root)
	if err != nil {
		return "", err
	}
	patch, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	files, err := touched(ctx, patch, dir)
	if err != nil {
		return "", err
	}
	before := make(map[string][]byte, len(files))
	for _, f := range files {
		if before[f], err = place(root, dir, f); err != nil {
			return "", err
		}
	}
	if _, err := gitApply(ctx, dir, patch); err != nil {
		return "", fmt.Errorf("the patch does not apply: %w", err)
	}
	replace := make(map[string]string, len(files))
	for _, f := range files {
		after, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			return "", fmt.Errorf("the patch takes %s away", f)
		}
		if bytes.Equal(before[f], after) {
			return "", fmt.Errorf("the patch leaves %s as it is", f)
		}
		replace[filepath.Join(root, f)] = filepath.Join(dir, f)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// touched are the files that a patch changes, by their paths below the root.
func touched(ctx context.Context, patch, dir string) ([]string, error) {
	out, err := gitApply(ctx, dir, "--numstat", "-z", patch)
	if err != nil {
		return nil, fmt.Errorf("the patch is none: %w", err)
	}
	var files []string
	for record := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		fields := strings.SplitN(record, "\t", 3) // lines added, lines removed, path
		if len(fields) != 3 {
			return nil, fmt.Errorf("git apply said %q", out)
		}
		f := fields[2]
		switch {
		case !filepath.IsLocal(f):
			return nil, fmt.Errorf("the patch reaches out of the repository, for %s", f)
		case strings.HasSuffix(f, "_test.go"):
			return nil, fmt.Errorf("the patch changes %s: a test is not where bugs are seeded", f)
		}
		files = append(files, f)
	}
	return files, nil
}

// place copies a file of the repository to the same place below dir.
func place(root, dir, file string) (text []byte, err error) {
	text, err = os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, fmt.Errorf("the patch does not apply: %w", err)
	}
	to := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return nil, err
	}
	return text, os.WriteFile(to, text, 0o600)
}

// gitApply runs git apply in dir. Every line of a patch's context must be found; its numbers may be off by what others have
// written above.
func gitApply(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"apply", "--whitespace=nowarn"}, args...)...)
	cmd.Dir = dir
	// With a repository around dir git would take paths from that one's root, and pass over what is not below dir.
	ofGit := func(setting string) bool { return strings.HasPrefix(setting, "GIT_") }
	cmd.Env = append(slices.DeleteFunc(os.Environ(), ofGit), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		if text := strings.TrimSpace(said.String()); text != "" {
			err = errors.New(strings.ReplaceAll(text, "\n", "; "))
		}
		return "", err
	}
	return string(out), nil
}
