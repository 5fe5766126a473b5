// Package suite runs the whole comparison: rounds of interleaved windows over
// healthy nodes, over links with a round trip, and with one node stopped; and the
// memory that locks cost.
package suite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumlock/go-redlock/bench/load"
)

// Sections, as -only names them.
const (
	Healthy = "healthy"
	Link    = "link"
	Stopped = "stopped"
	Renewal = "renewal"
	Memory  = "memory"
)

// Sections lists all sections in the order in which they run.
func Sections() []string { return []string{Healthy, Link, Stopped, Renewal, Memory} }

// Callers of the tables and budgets.
const (
	Alone = 1
	Some  = 16
	Many  = 128
	Crowd = 512
)

// ErrSettings says that the settings contradict themselves.
var ErrSettings = errors.New("suite: settings")

// Settings say how long and how often is measured.
type Settings struct {
	Rounds int `json:"rounds"`
	// Slices is into how many windows a round cuts each figure: the contenders take
	// turns at every slice, so that a slow second of the machine meets all of them.
	Slices int         `json:"slices"`
	Quiet  load.Window `json:"quiet"` // a slice with up to 16 callers
	Busy   load.Window `json:"busy"`  // a slice with more
	// RoundTrip is what the links add.
	RoundTrip time.Duration `json:"round_trip"`
	// StoppedWindow is the time for each figure around the stop, not sliced: a node
	// cannot be stopped and woken between slices without measuring the waking.
	StoppedWindow load.Window `json:"stopped_window"`
	// SlowPeers has redsync on default options sit out a stopped node too, which
	// takes ten seconds a round.
	SlowPeers   bool          `json:"slow_peers"`
	PeerWindow  time.Duration `json:"peer_window"`
	HeldLocks   int           `json:"held_locks"`
	IdleLockers int           `json:"idle_lockers"`
	KeptLocks   int           `json:"kept_locks"`
	KeptTTL     time.Duration `json:"kept_ttl"`
	KeptFor     time.Duration `json:"kept_for"`
	Counters    int           `json:"counters"` // of fences, on one node
	// Only is one section, or empty for all.
	Only string `json:"only,omitempty"`
}

// Full is the run whose figures are worth keeping.
func Full() Settings {
	return Settings{
		Rounds:        5,
		Slices:        4,
		Quiet:         load.Window{Warm: 50 * time.Millisecond, Measure: 250 * time.Millisecond},
		Busy:          load.Window{Warm: 100 * time.Millisecond, Measure: 400 * time.Millisecond},
		RoundTrip:     time.Millisecond,
		StoppedWindow: load.Window{Warm: 200 * time.Millisecond, Measure: time.Second},
		SlowPeers:     true,
		PeerWindow:    2 * time.Second,
		HeldLocks:     100_000,
		IdleLockers:   64,
		KeptLocks:     10_000,
		KeptTTL:       9 * time.Second,
		KeptFor:       30 * time.Second,
		Counters:      1_000_000,
	}
}

// Quick goes through everything once, too briefly for its figures to mean much.
func Quick() Settings {
	s := Full()
	s.Rounds = 1
	s.Slices = 1
	s.Quiet = load.Window{Warm: 20 * time.Millisecond, Measure: 100 * time.Millisecond}
	s.Busy = load.Window{Warm: 50 * time.Millisecond, Measure: 200 * time.Millisecond}
	s.StoppedWindow = load.Window{Warm: 50 * time.Millisecond, Measure: 200 * time.Millisecond}
	s.SlowPeers = false
	s.PeerWindow = 0
	s.HeldLocks = 2_000
	s.IdleLockers = 8
	s.KeptLocks = 100
	s.KeptTTL = 1200 * time.Millisecond
	s.KeptFor = 500 * time.Millisecond
	s.Counters = 2_000
	return s
}

// Validate names the first setting that cannot be run.
func (s Settings) Validate() error {
	switch {
	case s.Rounds < 1:
		return fmt.Errorf("%w: rounds %d is below 1", ErrSettings, s.Rounds)
	case s.Only != "" && !slices.Contains(Sections(), s.Only):
		return fmt.Errorf("%w: no section %q: one of %s", ErrSettings, s.Only, strings.Join(Sections(), ", "))
	default:
		return nil
	}
}

func (s Settings) includes(section string) bool { return s.Only == "" || s.Only == section }

func (s Settings) window(callers int) load.Window {
	if callers <= Some {
		return s.Quiet
	}
	return s.Busy
}
