// Command mutants runs a table of seeded bugs: for each it puts the bug into the sources and requires that the test that is
// to catch it fails. It is started in the root of the repository.
//
//	mutants [-run regexp] [-v]
//
// A mutant is a file tools/mutants/table/NN-name.patch: what the bug is, which test catches it, and a unified diff.
//
//	Bug: Half of an even number of nodes is a majority.
//	Test: ./internal/quorum TestMajorities
//	--- a/internal/quorum/quorum.go
//	+++ b/internal/quorum/quorum.go
//	...
//
// The test may be a subtest, written as go test prints it. With -run only the mutants whose file's name matches are run, and
// with -v what caught each is shown.
//
// The working tree stays as it is: the files that a patch touches are copied, patched by git apply and laid over the sources
// by go test -overlay, which covers embedded files as it does those in Go. A patch that changes a test is refused.
//
// Caught means that the test ran, and said itself that it failed. Everything else fails the run, and is said with its mutant:
// a patch that does not apply or compile, a test that passes, is skipped or does not exist, one that runs out of time or whose
// binary dies first. So does a test that does not pass without the bug: each is run once before all else, and what its mutants
// would show is worth nothing where it is red. Tests get the masters that are embedded in them, whatever else there is.
//
// It ends with 0 if all mutants were caught, with 1 if one was not or there is none, and with 2 where it was called wrongly
// or nothing matches.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

// limit is how long a test may take to fail.
const limit = time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, runner{root: ".", limit: limit, out: os.Stdout}, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code.
func run(ctx context.Context, r runner, args []string, complaints io.Writer) int {
	fs := flag.NewFlagSet("mutants", flag.ContinueOnError)
	fs.SetOutput(complaints)
	pattern := fs.String("run", "", "run only the mutants whose file's name matches the regexp")
	fs.BoolVar(&r.verbose, "v", false, "show what the test of each mutant printed last")
	if err := fs.Parse(args); err != nil {
		return 2 // which it has said, with the usage
	}
	misused := func(why string) int {
		fmt.Fprintln(complaints, "mutants:", why)
		fs.Usage()
		return 2
	}
	only, err := regexp.Compile(*pattern)
	switch {
	case err != nil:
		return misused(err.Error())
	case fs.NArg() > 0:
		return misused("no arguments are taken, and there is " + fs.Arg(0))
	}
	mutants, err := readTable(r.root)
	if err == nil {
		if mutants = selected(mutants, only); len(mutants) == 0 {
			return misused("no mutant's name matches " + *pattern)
		}
		err = r.run(ctx, mutants)
	}
	if err != nil {
		fmt.Fprintln(complaints, "mutants:", err)
		return 1
	}
	return 0
}

func selected(mutants []mutant, only *regexp.Regexp) []mutant {
	var some []mutant
	for _, m := range mutants {
		if only.MatchString(m.name) {
			some = append(some, m)
		}
	}
	return some
}

// runner runs mutants of the module in one folder.
type runner struct {
	root    string
	limit   time.Duration
	out     io.Writer
	verbose bool
}

// errSurvived says that a mutant was not caught.
var errSurvived = errors.New("not all mutants were caught")

// run prints a line for each mutant and, at the end, how many of them were caught. Its error is that not all were.
func (r runner) run(ctx context.Context, mutants []mutant) error {
	red, err := r.baseLine(ctx, mutants)
	if err != nil {
		return err
	}
	caught := 0
	for _, m := range mutants {
		start := time.Now()
		why, details := red[m.catcher], []string(nil)
		if why == "" {
			why, details = r.try(ctx, m)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		say := "NOT CAUGHT: " + why + ", "
		if why == "" {
			caught++
			say = ""
		}
		fmt.Fprintf(r.out, "%s  %s %s%v, %.1f s\n", m.number, m.bug, say, m.catcher, time.Since(start).Seconds())
		if why == "" && !r.verbose {
			continue
		}
		for _, line := range details {
			fmt.Fprintln(r.out, "      "+line)
		}
	}
	fmt.Fprintf(r.out, "%d mutants, %d caught\n", len(mutants), caught)
	if caught < len(mutants) {
		return errSurvived
	}
	return nil
}

// baseLine runs every test that is to catch a mutant without any, and returns why those that did not pass are of no use.
func (r runner) baseLine(ctx context.Context, mutants []mutant) (red map[catcher]string, err error) {
	start := time.Now()
	red = make(map[catcher]string)
	for _, group := range byPackage(mutants) {
		got, err := r.goTest(ctx, group[0].pkg, anyOf(group), "", len(group))
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		for _, c := range group {
			if how := got.of(c.test); how != passed {
				red[c] = "without the bug the test " + how.String()
				fmt.Fprintf(r.out, "base line: %v %v\n", c, how)
			}
		}
		if got.unbuilt {
			fmt.Fprintln(r.out, got.text())
		}
	}
	fmt.Fprintf(r.out, "base line: %.1f s\n", time.Since(start).Seconds())
	return red, nil
}

// try returns why the mutant was not caught, or "", and what was printed last.
func (r runner) try(ctx context.Context, m mutant) (why string, details []string) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return err.Error(), nil
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left of it is the system's to sweep
	overlay, err := r.seed(ctx, m, dir)
	if err != nil {
		return err.Error(), nil
	}
	got, err := r.goTest(ctx, m.pkg, m.pattern(), overlay, 1)
	if err != nil {
		return err.Error(), nil
	}
	if how := got.of(m.test); how != failed {
		why = "the test " + how.String()
	}
	return why, got.last(20)
}
