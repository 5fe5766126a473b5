package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/quorumlock/go-redlock/bench/contention"
	"github.com/quorumlock/go-redlock/bench/crew"
	"github.com/quorumlock/go-redlock/bench/report"
	"github.com/quorumlock/go-redlock/bench/servers"
)

// contentionWord in front of the flags asks for the waits instead of the cycles.
const contentionWord = "contention"

// waitOrder is what the command line asks for behind that word.
type waitOrder struct {
	settings             contention.Settings
	json, markdown, plot string
	command              string
}

// runContention is run for the waits.
func runContention(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	o, err := parseContention(args, progress)
	if err != nil {
		return err
	}
	masters, err := servers.Start(ctx, nodes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, masters.Close()) }()
	say := func(format string, args ...any) { fmt.Fprintf(progress, format+"\n", args...) }
	results, err := o.measure(ctx, masters.Addrs(), say)
	if err != nil {
		return err
	}
	lines, err := report.Judge(results, report.WaitBudgets(o.settings))
	if err != nil {
		return err
	}
	doc := &report.WaitDocument{
		Command:  o.command,
		Machine:  report.Describe(ctx, masters.Addrs()[0]),
		Settings: o.settings,
		Budgets:  lines,
		Results:  results,
		Plot:     o.link(),
	}
	return errors.Join(
		doc.WriteMarkdown(out),
		write(o.json, doc.WriteJSON),
		write(o.markdown, doc.WriteMarkdown),
		write(o.plot, doc.WritePlot),
	)
}

func (o *waitOrder) measure(ctx context.Context, addrs []string, say func(string, ...any)) (_ *contention.Results, err error) {
	folder, err := os.MkdirTemp("", "redlock-bench-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	program, err := crew.Build(ctx, folder)
	if err != nil {
		return nil, err
	}
	return contention.Run(ctx, o.settings, program, addrs, say)
}

func parseContention(args []string, usage io.Writer) (*waitOrder, error) {
	flags := flag.NewFlagSet("bench "+contentionWord, flag.ContinueOnError)
	flags.SetOutput(usage)
	rounds := flags.Int("rounds", contention.Full().Rounds, "how many `rounds` to measure")
	jsonFile := flags.String("json", "", "also write everything, each round included, to this `file`")
	markdown := flags.String("markdown", "", "also write the tables to this `file`")
	plotFile := flags.String("plot", "", "draw the waits into this SVG `file`")
	quick := flags.Bool("quick", false, "one short round, to see that it runs")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o := &waitOrder{
		settings: contention.Full(),
		json:     *jsonFile,
		markdown: *markdown,
		plot:     *plotFile,
		command:  strings.Join(append([]string{"cd bench && go run .", contentionWord}, args...), " "),
	}
	o.settings.Rounds = *rounds
	if *quick {
		o.settings = contention.Quick()
	}
	return o, o.settings.Validate()
}

// link is the plot as the page finds it; empty where either is not written, or where
// one is not to be reached from the other.
func (o *waitOrder) link() string {
	if o.markdown == "" || o.plot == "" {
		return ""
	}
	to, err := filepath.Rel(filepath.Dir(o.markdown), o.plot)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(to)
}
