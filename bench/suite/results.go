package suite

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/go-redlock/bench/load"
)

// BeforeStop is the part of the stopped section in which all nodes still answer.
const BeforeStop = "stopped: before"

// Cell names one row of the tables.
type Cell struct {
	Section   string `json:"section"`
	Contender string `json:"contender"`
	Callers   int    `json:"callers"`
}

// String is for messages: "healthy: redsync with 128 callers".
func (c Cell) String() string {
	return fmt.Sprintf("%s: %s with %d callers", c.Section, c.Contender, c.Callers)
}

// Figures is what one round saw in one cell. Times are in microseconds.
type Figures struct {
	AcquireP50      float64 `json:"acquire_p50_us"`
	AcquireP99      float64 `json:"acquire_p99_us"`
	ReleaseP50      float64 `json:"release_p50_us"`
	CyclesPerSecond float64 `json:"cycles_per_second"`
	CycleTime       float64 `json:"cycle_us"` // what a complete cycle takes one caller, on average
	AllocsPerCycle  float64 `json:"allocs_per_cycle"`
	CPUPerCycle     float64 `json:"cpu_us_per_cycle"`
	Goroutines      float64 `json:"goroutines"` // most at once, without those that were there before
	Failures        float64 `json:"failures"`
}

// PeerWait is what one cycle of a peer takes while a node is stopped.
type PeerWait struct {
	Contender string    `json:"contender"`
	Seconds   []float64 `json:"seconds_per_cycle"` // one a round
	Failures  uint64    `json:"failures"`          // of all rounds
}

// Row is a cell with its rounds in order.
type Row struct {
	Cell
	Rounds []Figures `json:"rounds"`
}

// MemoryFigures is what locks cost in heap, and whether many can be held.
type MemoryFigures struct {
	IdleLockerBytes float64 `json:"idle_locker_bytes"` // a Locker of all nodes, its clients included, no connection
	HeldLockBytes   float64 `json:"held_lock_bytes"`   // without the key's name, which is the caller's
	Held            int     `json:"held"`              // at once
	Released        int     `json:"released"`
	KeysHeld        int64   `json:"keys_held"` // over all nodes while all were held
	KeysLeft        int64   `json:"keys_left"` // over all nodes a moment after the last release
	AcquireSeconds  float64 `json:"acquire_seconds"`
	ReleaseSeconds  float64 `json:"release_seconds"`
	Counters        int64   `json:"counters"`      // that fenced locks left on one node
	CounterBytes    float64 `json:"counter_bytes"` // of that node's memory, each
}

// RenewalFigures is what it costs to keep many locks.
type RenewalFigures struct {
	Kept       int     `json:"kept"`       // from the start to the end
	Lost       int     `json:"lost"`       // on the way, or never had
	Cores      float64 `json:"cores"`      // that this process used
	Goroutines int     `json:"goroutines"` // most at once, without those that were there before
	Seconds    float64 `json:"seconds"`    // measured
	Renewals   float64 `json:"per_second"` // by the settings: one each third of the TTL
}

// Results is everything a run measured. Rows are in the order of measuring.
type Results struct {
	Nodes   int             `json:"nodes"`
	Rows    []*Row          `json:"rows"`
	Peers   []*PeerWait     `json:"peers_while_stopped,omitempty"`
	Renewal *RenewalFigures `json:"renewal,omitempty"`
	Memory  *MemoryFigures  `json:"memory,omitempty"`
}

// Rounds returns the rounds of a cell, nil where it was not measured.
func (r *Results) Rounds(c Cell) []Figures {
	for _, row := range r.Rows {
		if row.Cell == c {
			return row.Rounds
		}
	}
	return nil
}

func (r *Results) add(c Cell, f Figures) {
	for _, row := range r.Rows {
		if row.Cell == c {
			row.Rounds = append(row.Rounds, f)
			return
		}
	}
	r.Rows = append(r.Rows, &Row{Cell: c, Rounds: []Figures{f}})
}

func (r *Results) addWait(contender string, s *load.Sample) {
	i := slices.IndexFunc(r.Peers, func(w *PeerWait) bool { return w.Contender == contender })
	if i < 0 {
		i = len(r.Peers)
		r.Peers = append(r.Peers, &PeerWait{Contender: contender})
	}
	w := r.Peers[i]
	w.Seconds = append(w.Seconds, s.Elapsed.Seconds()/float64(s.Attempts))
	w.Failures += s.Failures
}

// figuresOf reduces the sample of some callers; goroutines is how many to take off as
// not the contender's.
func figuresOf(s *load.Sample, callers, goroutines int) Figures {
	attempts := float64(s.Attempts) // failed cycles cost, too
	return Figures{
		AcquireP50:      micros(s.Acquire.Quantile(0.50)),
		AcquireP99:      micros(s.Acquire.Quantile(0.99)),
		ReleaseP50:      micros(s.Release.Quantile(0.50)),
		CyclesPerSecond: float64(s.Cycles) / s.Elapsed.Seconds(),
		CycleTime:       micros(s.Elapsed) * float64(callers) / float64(s.Cycles),
		AllocsPerCycle:  float64(s.Mallocs) / attempts,
		CPUPerCycle:     micros(s.CPU) / attempts,
		Goroutines:      float64(max(s.Goroutines-goroutines, 0)),
		Failures:        float64(s.Failures),
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
