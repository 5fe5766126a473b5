// Command redlock shows what a lock over independent Redis masters does.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
	"github.com/urfave/cli/v3"

	"github.com/quorumlock/go-redlock/cmd/redlock/demo"
)

// interrupted is the status that shells give a program ended by SIGINT.
const interrupted = 130

func main() {
	// The client logs every dial that fails; what failed is in our errors.
	logging.Disable()
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}

// run returns the exit status. A first SIGINT or SIGTERM ends what goes on and cleans up; a second one ends the process.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // here the program begins
	defer stop()
	context.AfterFunc(ctx, stop)

	err := command(stdout, stderr).Run(ctx, args)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "redlock: interrupted:", err)
		return interrupted
	default:
		fmt.Fprintln(stderr, "redlock:", err)
		return 1
	}
}

func command(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name:                  "redlock",
		Usage:                 "a lock over independent Redis masters",
		Writer:                stdout,
		ErrWriter:             stderr,
		EnableShellCompletion: true,
		Commands: []*cli.Command{{
			Name:  "demo",
			Usage: "start five masters, take one lock, and watch what is left of it as they die and come back",
			Flags: []cli.Flag{&cli.StringFlag{
				Name:    "cluster",
				Usage:   "the masters: embedded, processes (needs redis-server) or containers (needs docker)",
				Value:   demo.Embedded,
				Sources: cli.EnvVars("CLUSTER"),
			}},
			Action: func(ctx context.Context, c *cli.Command) error {
				if c.Args().Present() {
					return fmt.Errorf("demo: unexpected argument %q", c.Args().First())
				}
				// Who passes an empty CLUSTER on has not chosen.
				return demo.Run(ctx, stdout, cmp.Or(c.String("cluster"), demo.Embedded))
			},
		}},
		// Errors are printed once, by run, and end nothing behind its back.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
	}
}
