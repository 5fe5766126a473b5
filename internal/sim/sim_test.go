package sim

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What `make test` runs of a scenario.
const (
	some = 2500
	few  = 100 // where one assumption is broken
)

// I1 to I9, on the real code, under every fault that the assumptions allow.
func TestSchedulesWithinTheAssumptionsBreakNothing(t *testing.T) {
	for _, s := range Scenarios {
		if s.Broken() || *only != "" && *only != s.Name {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			n := *schedules
			switch {
			case n > 0:
			case s.Fast:
				n = some / 5
			default:
				n = some
			}
			began := time.Now()
			all := many(t, s, n)
			all.report(t, s, time.Since(began))
			require.Zero(t, all.Found)
			require.LessOrEqual(t, all.Idle, all.Schedules/50, "schedules in which nobody ever got a lock")
			require.NotZero(t, all.Acquired)
			require.NotZero(t, all.LostReplies, "no fault happened")
			require.NotZero(t, all.Stale)
		})
	}
}

// A few of them in this very process, which the race detector may be looking at.
func TestSchedulesAreFreeOfRaces(t *testing.T) {
	t.Parallel()
	for _, s := range Scenarios {
		for seed := range uint64(12) {
			require.Empty(t, Run(t, s, seed, false).Violations, seedLine(s, seed))
		}
	}
}

// The same through go-redis, whose connections are in memory: what it makes of time-outs, resets and late replies is in it too.
func TestSchedulesThroughRealClientsBreakNothing(t *testing.T) {
	t.Parallel()
	clean, _ := Find("clean")
	var all tally
	for seed := range uint64(100) {
		all.take(clean, RunStack(t, clean, seed), seed)
		require.Empty(t, all.Broken)
	}
	require.NotZero(t, all.Acquired)
	require.NotZero(t, all.LostReplies)
	t.Logf("%d schedules, %d acquired, %d not, %d replies lost, %d nodes forgot", all.Schedules, all.Acquired, all.Refused, all.LostReplies, all.Forgot)
}

// As soon as one assumption is broken two clients have one lock at once, and the fence turns away what the late one writes. I7
// holds all the same: no lock goes on that another had meanwhile.
func TestABrokenAssumptionIsFoundAndTheFenceHolds(t *testing.T) {
	for _, s := range Scenarios {
		if !s.Broken() || *only != "" && *only != s.Name {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			n := *schedules
			if n == 0 {
				n = few
			}
			began := time.Now()
			all := many(t, s, n)
			all.report(t, s, time.Since(began))
			require.NotZero(t, all.Found, "nothing found")
			require.GreaterOrEqual(t, all.Stale, n, "writes that came too late; each that was admitted would have broken I8")
			if testing.Verbose() && *schedules > 0 {
				t.Logf("%s\n%s", seedLine(s, all.First), Run(t, s, all.First, true).Trace)
			}
		})
	}
}

// A seed is a schedule: the same events at the same instants, in whatever process.
func TestASeedRunTwiceIsTheSameSchedule(t *testing.T) {
	t.Parallel()
	traces := func() string {
		child := exec.CommandContext(t.Context(), plain(t), "-test.run", "^TestTraces$", "-test.count", "1", "-schedules", "100")
		child.Env = append(os.Environ(), "GOMAXPROCS=1")
		out, err := child.Output()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	once, again := traces(), traces()
	require.Greater(t, strings.Count(once, " HAS k"), 300)
	others := strings.Split(again, "\n")
	for i, line := range strings.Split(once, "\n") {
		require.Equal(t, line, others[i], "line %d", i)
	}
}

// TestTraces is what the one above compares.
func TestTraces(t *testing.T) {
	if *schedules == 0 || *progress != "" {
		return
	}
	for _, s := range Scenarios {
		for seed := range uint64(*schedules) / uint64(len(Scenarios)) {
			v := Run(t, s, seed, true)
			fmt.Println(seedLine(s, seed), v.Violations)
			fmt.Print(v.Trace)
		}
	}
}

// One schedule, for people.
func TestReplay(t *testing.T) {
	if *replay == "" {
		return // nobody asked for one
	}
	s, seed, err := parseSeed(*replay)
	require.NoError(t, err)
	v := Run(t, s, seed, true)
	fmt.Print(v.Trace)
	require.Empty(t, v.Violations)
}

// A run of nothing is no green run.
func TestWhatWouldRunNothingIsRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-schedules", "0"},
		{"-schedules", "-1"},
		{"-schedules", "many"},
		{"-scenario", "dirty"},
		{"-scenario", ""},
		{"-seed", ""},
		{"-seed", "12"},
		{"-seed", "clean"},
		{"-seed", "clean:"},
		{"-seed", "clean:x"},
		{"-seed", "dirty:1"},
		{"-first", "-1"},
	} {
		out, err := exec.CommandContext(t.Context(), os.Args[0], append(args, "-test.run", "^$")...).CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%v: %s", args, out)
		require.Equal(t, 2, exit.ExitCode(), "%v: %s", args, out)
		require.Contains(t, string(out), "usage: sim", args)
	}
}
