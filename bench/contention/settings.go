// Package contention measures how locks are waited for: one hot key, callers in one
// process and in many, side by side with the peers, and beside those who do not queue.
package contention

import (
	"errors"
	"fmt"
	"time"
)

// Crews of the tables and budgets.
const (
	Few   = 8  // callers or processes
	Many  = 32 // callers in one process
	Queue = 16 // processes that others barge past, or join
)

// A loop of TryLock takes turns from the queue: so many of them are let loose.
const (
	OneLoop   = 1
	FourLoops = 4
)

// ErrSettings says that the settings contradict themselves.
var ErrSettings = errors.New("contention: settings")

// Settings say how long and how often is measured.
type Settings struct {
	Rounds     int `json:"rounds"`      // of the library, whose budgets the median decides
	SideRounds int `json:"side_rounds"` // in so many of them the peers, and those beside a queue, are measured, too
	// Hold is how long each section lasts.
	Hold time.Duration `json:"hold"`
	// Crowd is how many processes wait at most.
	Crowd int `json:"crowd"`
	// Window is the time of a figure, CrowdWindow of one with a crowd, QueueWindow of
	// one with a queue.
	Window      time.Duration `json:"window"`
	CrowdWindow time.Duration `json:"crowd_window"`
	QueueWindow time.Duration `json:"queue_window"`
	// Drain is how much longer those may wait who wait at a window's end.
	Drain time.Duration `json:"drain"`
	// Newcomers is how many processes a second begin beside a queue.
	Newcomers int `json:"newcomers_per_second"`
	// Starts is how often a crowd is let loose on a free key, for StartWindow.
	Starts      int           `json:"starts"`
	StartWindow time.Duration `json:"start_window"`
}

// Full is the run whose figures are worth keeping.
func Full() Settings {
	return Settings{
		Rounds:      5,
		SideRounds:  1,
		Hold:        2 * time.Millisecond,
		Crowd:       64,
		Window:      2 * time.Second,
		CrowdWindow: 4 * time.Second,
		QueueWindow: 4 * time.Second,
		Drain:       2 * time.Second,
		Newcomers:   50,
		Starts:      20,
		StartWindow: 150 * time.Millisecond,
	}
}

// Quick goes through everything once, too briefly for its figures to mean much.
func Quick() Settings {
	s := Full()
	s.Rounds = 1
	s.Crowd = 12
	s.Window = 300 * time.Millisecond
	s.CrowdWindow = 300 * time.Millisecond
	s.QueueWindow = 400 * time.Millisecond
	s.Drain = time.Second
	s.Newcomers = 20
	s.Starts = 2
	return s
}

// Validate names the first setting that cannot be run.
func (s Settings) Validate() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrSettings, fmt.Sprintf(format, args...))
	}
	if s.Rounds < 1 || s.SideRounds < 0 || s.SideRounds > s.Rounds {
		return invalid("rounds %d, side rounds %d: one round at least, and no more side rounds than rounds", s.Rounds, s.SideRounds)
	}
	if s.Crowd <= Few || s.Crowd == Queue {
		return invalid("crowd %d: more than %d, and not the %d of a queue", s.Crowd, Few, Queue)
	}
	if s.Hold < 0 || s.Drain < 0 {
		return invalid("hold %v, drain %v: not below zero", s.Hold, s.Drain)
	}
	for _, d := range []time.Duration{s.Window, s.CrowdWindow, s.QueueWindow, s.StartWindow} {
		if d <= 0 {
			return invalid("window %v: above zero", d)
		}
	}
	if s.Newcomers < 1 || s.Newcomers > maxNewcomers {
		return invalid("newcomers %d: 1 to %d a second", s.Newcomers, maxNewcomers)
	}
	if s.Starts < 0 {
		return invalid("starts %d: not below zero", s.Starts)
	}
	return nil
}

// window is how long a cell is measured.
func (s Settings) window(c Cell) time.Duration {
	switch c.Processes {
	case Queue:
		return s.QueueWindow
	case s.Crowd:
		return s.CrowdWindow
	default:
		return s.Window
	}
}
