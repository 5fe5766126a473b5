package load

import (
	"runtime"
	"time"
)

// usage is what this process has spent so far.
type usage struct {
	mallocs uint64
	cpu     time.Duration // user and system
}

func readUsage() (usage, error) {
	cpu, err := processTime()
	if err != nil {
		return usage{}, err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{mallocs: m.Mallocs, cpu: cpu}, nil
}

// Meter reads what this process spends.
type Meter struct {
	start time.Time
	cpu   time.Duration
}

// StartMeter starts at nothing.
func StartMeter() (*Meter, error) {
	cpu, err := processTime()
	return &Meter{time.Now(), cpu}, err
}

// Read returns the time since the start, and the CPU time, user and system, that was spent in it.
func (m *Meter) Read() (elapsed, cpu time.Duration, err error) {
	now, err := processTime()
	return time.Since(m.start), now - m.cpu, err
}
