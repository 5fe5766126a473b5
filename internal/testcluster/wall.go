package testcluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// WallClocks puts the wall clocks of the masters ahead, each by its own offset in the order of the nodes; less than zero
// is behind. So does every start of them. Keys still live for as long as they are told: only the reading differs. Real
// servers on 64-bit Linux can be treated so, by a small library that is built with a C compiler and loaded before the
// server's own; where that is not so the start fails with [errors.ErrUnsupported].
func WallClocks(offsets ...time.Duration) StartOption {
	return func(s *Settings) { s.wallClocks = offsets }
}

const (
	preloadVariable    = "LD_PRELOAD"
	wallOffsetVariable = "WALL_CLOCK_OFFSET_US" // tells the library by how many microseconds
)

var wallLibrary = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	return RunScript(ctx, "wall-clock.sh")
})

// of returns the settings of one node.
func (s Settings) of(node int) Settings {
	if node < len(s.wallClocks) {
		s.WallClock = s.wallClocks[node]
	}
	return s
}

// WallClockEnv returns what a server with these settings needs in its environment, given where it finds the library: ""
// is where it was built. That place is returned, too; it is "" where the clock is as it should be.
func (s Settings) WallClockEnv(inside string) (env map[string]string, library string, err error) {
	if s.WallClock == 0 {
		return nil, "", nil
	}
	library, err = wallLibrary()
	if err != nil {
		return nil, "", fmt.Errorf("no wall clock can be put ahead here: %w: %w", errors.ErrUnsupported, err)
	}
	if inside == "" {
		inside = library
	}
	return map[string]string{
		preloadVariable:    inside,
		wallOffsetVariable: strconv.FormatInt(s.WallClock.Microseconds(), 10),
	}, library, nil
}
