package report

import (
	"fmt"
	"slices"

	"github.com/quorumlock/go-redlock/bench/suite"
)

// Budgets are the promises that docs/design.md makes for what is measured here.
// s is what was measured.
func Budgets(nodes int, s suite.Settings) []Budget[*suite.Results] {
	return slices.Concat(speed(), oneStopped(nodes), renewed(nodes, s), heldAndIdle(nodes, s.HeldLocks))
}

func speed() []Budget[*suite.Results] {
	const healthy, link = suite.Healthy, suite.Link
	const alone, some, many, crowd = suite.Alone, suite.Some, suite.Many, suite.Crowd
	return []Budget[*suite.Results]{
		{
			Name: "acquire p50 alone, over a raw SET", Unit: "×", Limit: 1.3,
			values: ratio(acquireP50, lib(healthy, alone), raw(healthy, alone)),
		},
		{
			Name: "cycles/s, 128 callers, over redsync", Unit: "×", Limit: 10, Least: true,
			values: ratio(cyclesPerSecond, lib(healthy, many), peer(healthy, many)),
		},
		{
			Name: "cycles/s, 512 callers, over redsync", Unit: "×", Limit: 12, Least: true,
			values: ratio(cyclesPerSecond, lib(healthy, crowd), peer(healthy, crowd)),
		},
		{
			Name: "allocations a cycle, 128 callers (45 wanted)", Limit: 62,
			values: plain(allocs, lib(healthy, many)),
		},
		{
			Name: "client CPU a cycle, 128 callers, over redsync", Unit: "×", Limit: 1.0 / 12,
			values: ratio(cpu, lib(healthy, many), peer(healthy, many)),
		},
		{
			Name: "fencing on: cycles/s, 128 callers, over plain", Unit: "×", Limit: 0.6, Least: true,
			values: ratio(cyclesPerSecond, fenced(healthy, many), lib(healthy, many)),
		},
		{
			Name: "1 ms round trip: acquire p50, 1 caller, over raw", Unit: "×", Limit: 1.15,
			values: ratio(acquireP50, lib(link, alone), raw(link, alone)),
		},
		{
			Name: "1 ms round trip: acquire p50, 16 callers, over raw with 16", Unit: "×", Limit: 1.6,
			values: ratio(acquireP50, lib(link, some), raw(link, some)),
		},
		{
			Name: "1 ms round trip: acquire p50, 128 callers, over redsync", Unit: "×", Limit: 0.5,
			values: ratio(acquireP50, lib(link, many), peer(link, many)),
		},
	}
}

func oneStopped(nodes int) []Budget[*suite.Results] {
	const before, stopped = suite.BeforeStop, suite.Stopped
	const alone, many = suite.Alone, suite.Many
	return []Budget[*suite.Results]{
		{
			Name: "one node stopped: acquire p50 alone, over healthy", Unit: "×", Limit: 1.2,
			values: ratio(acquireP50, lib(stopped, alone), lib(before, alone)),
		},
		{
			Name: "one node stopped: acquire p50, 128 callers, over healthy", Unit: "×", Limit: 1.2,
			values: ratio(acquireP50, lib(stopped, many), lib(before, many)),
		},
		{
			Name: "one node stopped: cycles/s, 128 callers, over healthy", Unit: "×", Limit: 0.8, Least: true,
			values: ratio(cyclesPerSecond, lib(stopped, many), lib(before, many)),
		},
		{
			Name: "one node stopped: goroutines, 128 callers", Limit: float64(many + 4*nodes + 8),
			values: plain(goroutines, lib(stopped, many)),
		},
		{
			Name: "one node stopped: failed cycles, 128 callers", Limit: 0,
			values: plain(failures, lib(stopped, many)),
		},
	}
}

func renewed(nodes int, s suite.Settings) []Budget[*suite.Results] {
	what := fmt.Sprintf("%d locks kept alive, TTL %v: ", s.KeptLocks, s.KeptTTL)
	return []Budget[*suite.Results]{
		{
			Name: what + "client CPU, of one core", Unit: "%", Limit: 10,
			values: ofRenewal(func(f *suite.RenewalFigures) float64 { return 100 * f.Cores }),
		},
		{
			Name: what + "goroutines", Limit: float64(s.KeptLocks + 4*nodes + 8),
			values: ofRenewal(func(f *suite.RenewalFigures) float64 { return float64(f.Goroutines) }),
		},
		{
			Name: what + "lost", Limit: 0,
			values: ofRenewal(func(f *suite.RenewalFigures) float64 { return float64(f.Lost) }),
		},
	}
}

func heldAndIdle(nodes, locks int) []Budget[*suite.Results] {
	return []Budget[*suite.Results]{
		{
			Name: fmt.Sprintf("heap of an idle Locker of %d nodes, no connections", nodes), Unit: "B", Limit: 64 << 10,
			values: ofMemory(func(m *suite.MemoryFigures) float64 { return m.IdleLockerBytes }),
		},
		{
			Name: "heap of a held lock", Unit: "B", Limit: 1 << 10,
			values: ofMemory(func(m *suite.MemoryFigures) float64 { return m.HeldLockBytes }),
		},
		{
			Name: "locks held at once", Limit: float64(locks), Least: true,
			values: ofMemory(func(m *suite.MemoryFigures) float64 { return float64(m.Held) }),
		},
		{
			Name: "of these, unlocked", Limit: float64(locks), Least: true,
			values: ofMemory(func(m *suite.MemoryFigures) float64 { return float64(m.Released) }),
		},
		{
			Name: "keys left on all nodes after that", Limit: 0,
			values: ofMemory(func(m *suite.MemoryFigures) float64 { return float64(m.KeysLeft) }),
		},
	}
}
