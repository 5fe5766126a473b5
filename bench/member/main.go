// Command member is one process of a crew. It is a program of its own because a fresh process is to cost what a client's does: what
// draws plots and starts servers more than doubles the time in which a process gets as far as main.
package main

import (
	"fmt"
	"os"

	"github.com/quorumlock/go-redlock/bench/crew"
)

func main() {
	crew.ServeIfAsked()
	fmt.Fprintln(os.Stderr, "member: started by the bench only")
	os.Exit(2)
}
