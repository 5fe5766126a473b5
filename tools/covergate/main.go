// Command covergate reads a coverage profile and fails when one of the named packages has less of its statements
// covered than the minimum, or does not appear at all.
//
//	covergate [-min percent] profile import-path...
//
// A statement counts as covered when any test binary of the run reached it: with -coverpkg the profile holds each
// block once per binary.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "covergate:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("covergate", flag.ContinueOnError)
	minimum := fs.Float64("min", 90, "least percentage of statements")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() < 2 {
		return errors.New("a profile and at least one import path are needed")
	}
	f, err := os.Open(fs.Arg(0))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	blocks, err := parse(f)
	if err != nil {
		return err
	}
	return judge(out, blocks, fs.Args()[1:], *minimum)
}

// block is one run of statements; blocks of all binaries are merged under their position.
type block struct {
	statements int
	covered    bool
}

// parse reads a profile: a line "mode: ..." and then "file:start,end statements count" a line.
func parse(r io.Reader) (map[string]block, error) {
	blocks := make(map[string]block)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "mode: ") {
			continue
		}
		var where string
		var statements, count int
		if _, err := fmt.Sscan(line, &where, &statements, &count); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		blocks[where] = block{statements, blocks[where].covered || count > 0}
	}
	return blocks, lines.Err()
}

// judge prints one line a package and returns an error that names those below the minimum.
func judge(out io.Writer, blocks map[string]block, packages []string, minimum float64) error {
	covered, all := map[string]int{}, map[string]int{}
	for where, b := range blocks {
		file, _, _ := strings.Cut(where, ":")
		pkg := path.Dir(file)
		all[pkg] += b.statements
		if b.covered {
			covered[pkg] += b.statements
		}
	}
	var low []string
	for _, pkg := range packages {
		// A package without statements in the profile was not measured: 0 %, not 100 %.
		percent := 100 * float64(covered[pkg]) / float64(max(all[pkg], 1))
		fmt.Fprintf(out, "%5.1f %%  %5d statements  %s\n", percent, all[pkg], pkg)
		if percent < minimum {
			low = append(low, pkg)
		}
	}
	if len(low) > 0 {
		return fmt.Errorf("below %g %%: %s", minimum, strings.Join(low, ", "))
	}
	return nil
}
