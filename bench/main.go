// Command bench measures this library beside a raw SET NX PX and beside redsync, in
// one run on five redis-server processes, and holds the result against the budgets.
// Stopping a node needs a Unix. Called with the word contention it measures how one
// hot key is waited for instead.
//
//	cd bench && go run . -json run.json -markdown ../docs/benchmarks.md
//	cd bench && go run . contention -markdown ../docs/contention.md -plot ../docs/contention.svg
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/quorumlock/go-redlock/bench/link"
	"github.com/quorumlock/go-redlock/bench/report"
	"github.com/quorumlock/go-redlock/bench/servers"
	"github.com/quorumlock/go-redlock/bench/suite"
)

// nodes is what every budget is for.
const nodes = 5

func main() {
	link.ServeIfAsked()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// order is what the command line asks for.
type order struct {
	settings       suite.Settings
	json, markdown string
	command        string
}

// run measures, prints the tables to out and the progress to progress, and writes
// the files that were asked for. A missed budget is a line of the table, no error.
func run(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	if len(args) > 0 && args[0] == contentionWord {
		return runContention(ctx, args[1:], out, progress)
	}
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	masters, err := servers.Start(ctx, nodes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, masters.Close()) }()
	say := func(format string, args ...any) { fmt.Fprintf(progress, format+"\n", args...) }
	results, err := suite.Run(ctx, o.settings, masters, say)
	if err != nil {
		return err
	}
	lines, err := report.Judge(results, report.Budgets(nodes, o.settings))
	if err != nil {
		return err
	}
	doc := &report.Document{
		Command:  o.command,
		Machine:  report.Describe(ctx, masters.Addrs()[0]),
		Settings: o.settings,
		Budgets:  lines,
		Results:  results,
	}
	return errors.Join(
		doc.WriteMarkdown(out),
		write(o.json, doc.WriteJSON),
		write(o.markdown, doc.WriteMarkdown),
	)
}

func parse(args []string, usage io.Writer) (*order, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	rounds := flags.Int("rounds", suite.Full().Rounds, "how many `rounds` to measure")
	jsonFile := flags.String("json", "", "also write everything, each round included, to this `file`")
	markdown := flags.String("markdown", "", "also write the tables to this `file`")
	quick := flags.Bool("quick", false, "one short round, to see that it runs")
	only := flags.String("only", "", "measure one `section` only: "+strings.Join(suite.Sections(), ", "))
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o := &order{
		settings: suite.Full(),
		json:     *jsonFile,
		markdown: *markdown,
		command:  strings.Join(append([]string{"cd bench && go run ."}, args...), " "),
	}
	o.settings.Rounds = *rounds
	if *quick {
		o.settings = suite.Quick()
	}
	o.settings.Only = *only
	return o, o.settings.Validate()
}

func write(name string, to func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(to(f), f.Close())
}
