package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// addrsVariable names the masters of [Addresses]: host:port, separated by commas.
const addrsVariable = "REDLOCK_ADDRS"

// addresses are masters that somebody else runs. Only their proxies are ours.
type addresses struct{}

func (addresses) Present(context.Context) error {
	if os.Getenv(addrsVariable) == "" {
		return fmt.Errorf("%s is not set", addrsVariable)
	}
	return nil
}

func (addresses) Launch(ctx context.Context, addr string, s Settings) (Master, error) {
	if len(s.Args) > 0 || s.WallClock != 0 {
		return nil, fmt.Errorf("arguments or a clock for a server that runs already: %w", errors.ErrUnsupported)
	}
	if err := AwaitPong(ctx, addr); err != nil {
		return nil, err
	}
	return outsider{}, nil
}

// givenAddrs returns where the n masters of a back end are; "" is a port of ours.
func givenAddrs(b Backend, n int) ([]string, error) {
	given := make([]string, n)
	if b != Addresses {
		return given, nil
	}
	named := strings.Split(os.Getenv(addrsVariable), ",")
	if len(named) < n {
		return nil, fmt.Errorf("testcluster: %s names %d masters, %d are wanted", addrsVariable, len(named), n)
	}
	for i := range given {
		given[i] = strings.TrimSpace(named[i])
	}
	return given, nil
}

// outsider is a master that we may talk to and not touch.
type outsider struct{}

var errOutsider = fmt.Errorf("testcluster: the master belongs to somebody else: %w", errors.ErrUnsupported)

func (outsider) Can(f Fault) bool                  { return f == Config }
func (outsider) Kill(context.Context) error        { return errOutsider }
func (outsider) Start(context.Context, bool) error { return errOutsider }
func (outsider) Stop(context.Context) error        { return errOutsider }
func (outsider) Continue(context.Context) error    { return errOutsider }
func (outsider) Close() error                      { return nil }
