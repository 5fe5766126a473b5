package sim

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// What `make sim` and `make ablation` say. Without any of it the tests run a part of everything.
var (
	schedules = flag.Int("schedules", 0, "how many `schedules` to run of each scenario; 0: a part")
	first     = flag.Uint64("first", 1, "the first `seed`")
	only      = flag.String("scenario", "", "the only scenario to run: "+scenarioNames())
	every     = flag.Int("every", 1, "of a worker: from each seed to its next")
	progress  = flag.String("progress", "", "of a worker: the `file` for the seed it is at")
	replay    = flag.String("seed", "", "one `seed` to run and print, as scenario:number")
)

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func scenarioNames() string {
	names := make([]string, len(Scenarios))
	for i, s := range Scenarios {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

func TestMain(m *testing.M) {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: sim [-schedules n] [-first seed] [-scenario name] [-seed scenario:number]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := settings(); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		flag.Usage()
		os.Exit(2)
	}
	redis.SetLogger(silent{}) // it tells of every dial that fails, and here most are meant to
	debug.SetGCPercent(400)   // a schedule is short, and all of it is garbage then
	os.Exit(runAll(m))
}

// programs is where a test puts what it builds.
var programs string

func runAll(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "sim"); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(programs) }()
	return m.Run()
}

// settings refuses what would run nothing, and be green.
func settings() error {
	given := make(map[string]bool)
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if given["schedules"] && *schedules < 1 {
		return fmt.Errorf("%d schedules are none", *schedules)
	}
	if _, ok := Find(*only); given["scenario"] && !ok {
		return fmt.Errorf("no scenario %q: there are %s", *only, scenarioNames())
	}
	if given["seed"] {
		_, _, err := parseSeed(*replay)
		return err
	}
	return nil
}

// seedLine is a schedule as its seed is written: the line that replays it.
func seedLine(s Scenario, seed uint64) string {
	return fmt.Sprintf("make sim SEED=%s:%d", s.Name, seed)
}

func parseSeed(text string) (Scenario, uint64, error) {
	name, number, _ := strings.Cut(text, ":")
	s, ok := Find(name)
	if !ok {
		return s, 0, fmt.Errorf("seed %q: no scenario %q: there are %s", text, name, scenarioNames())
	}
	seed, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return s, 0, fmt.Errorf("seed %q: behind the colon is no number", text)
	}
	return s, seed, nil
}
