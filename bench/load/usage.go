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
