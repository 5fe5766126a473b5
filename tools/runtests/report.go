package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// noMasters stands for the packages whose tests announced no back end.
const noMasters = "no masters"

func (c *collector) total() counts {
	var t counts
	for _, s := range c.suites {
		t = t.plus(s.counts)
	}
	return t
}

// report prints what was skipped and why, the counts per back end, and go test's own closing lines last.
func (c *collector) report() {
	byMasters := make(map[string]counts)
	for _, pkg := range c.order {
		s := c.suites[pkg]
		name := s.masters
		if name == "" {
			name = noMasters
		}
		byMasters[name] = byMasters[name].plus(s.counts)
		for _, skip := range s.skips {
			fmt.Fprintf(c.out, "skipped: %s %s\n", pkg, strings.TrimSpace(skip))
		}
	}
	fmt.Fprintln(c.out, "tests, by the masters they ran on:")
	for _, name := range slices.Sorted(maps.Keys(byMasters)) {
		fmt.Fprintf(c.out, "  %-12s %s\n", name, byMasters[name])
	}
	for _, pkg := range c.order {
		fmt.Fprint(c.out, c.suites[pkg].verdict)
	}
}
