// Command runtests runs go test in one or more folders and counts what ran: by package while it goes on, and at the
// end by the masters the tests ran on. Its last lines are go test's own, one a package.
//
//	runtests [-runs N] [-strict] [-C dir]... -- arguments of go test
//
// It ends non-zero when a test or a build failed, when nothing ran, and with -strict when anything was skipped.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		os.Exit(1)
	}
}

// dirs collects the values of a flag that may be given several times.
type dirs []string

func (d *dirs) String() string     { return fmt.Sprint(*d) }
func (d *dirs) Set(s string) error { *d = append(*d, s); return nil }

func run(args []string, out io.Writer) error {
	var where dirs
	fs := flag.NewFlagSet("runtests", flag.ContinueOnError)
	runs := fs.Int("runs", 1, "how often to run everything")
	strict := fs.Bool("strict", false, "a skipped test is a failure")
	fs.Var(&where, "C", "folder to run in; may be repeated (default: the current one)")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if len(where) == 0 {
		where = dirs{"."}
	}

	var verdict error
	var all counts
	for i := range *runs {
		c := newCollector(out)
		broken := false
		for _, dir := range where {
			broken = goTest(c, dir, fs.Args()) != nil || broken
		}
		c.report()
		all = all.plus(c.total())
		if *runs > 1 {
			fmt.Fprintf(out, "run %d of %d: %s\n", i+1, *runs, c.total())
		}
		verdict = errors.Join(verdict, judge(c.total(), broken, *strict))
	}
	if *runs > 1 {
		fmt.Fprintf(out, "all %d runs: %s\n", *runs, all)
	}
	return verdict
}

// judge returns what is wrong with one run; broken is go test's own opinion, which also knows of builds.
func judge(t counts, broken, strict bool) error {
	switch {
	case broken || t.failed > 0:
		return errors.New("something failed")
	case t.passed == 0:
		return errors.New("no test ran")
	case strict && t.skipped > 0:
		return errors.New("something was skipped")
	}
	return nil
}

func goTest(c *collector, dir string, args []string) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir = dir
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := c.read(stdout)
	err = cmd.Wait()
	// Downloads are reported there too: worth reading only when something went wrong.
	if err != nil {
		_, _ = c.out.Write(complaints.Bytes())
	}
	return errors.Join(readErr, err)
}
