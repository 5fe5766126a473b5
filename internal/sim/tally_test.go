package sim

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tally is what many schedules came to.
type tally struct {
	Verdict
	Schedules int
	Idle      int    // schedules in which nobody ever got a lock
	Found     int    // schedules in which two had one at once
	First     uint64 // the lowest seed of those
	Broken    string // the first schedule that broke an invariant, with what it broke
}

func (a *tally) take(s Scenario, v Verdict, seed uint64) {
	a.add(v)
	a.Schedules++
	if v.Acquired == 0 {
		a.Idle++
	}
	if v.Overlaps > 0 && (a.Found == 0 || seed < a.First) {
		a.First = seed
	}
	if v.Overlaps > 0 {
		a.Found++
	}
	if len(v.Violations) > 0 && a.Broken == "" {
		a.Broken = fmt.Sprintf("%s\n%s", seedLine(s, seed), strings.Join(v.Violations, "\n"))
	}
}

func (a *tally) merge(o tally) {
	a.add(o.Verdict)
	a.Schedules += o.Schedules
	a.Idle += o.Idle
	if o.Found > 0 && (a.Found == 0 || o.First < a.First) {
		a.First = o.First
	}
	a.Found += o.Found
	if a.Broken == "" {
		a.Broken = o.Broken
	}
}

func (a *tally) report(t *testing.T, s Scenario, took time.Duration) {
	t.Helper()
	t.Logf("%s (%s): %d schedules in %v, %d acquired, %d not, %d extended; %d writes, %d stale ones refused; %d nodes forgot, %d were spared, "+
		"%d clocks stepped, %d replies lost; %d schedules without a lock; two at once in %d",
		s.Name, s.About, a.Schedules, took.Round(time.Second), a.Acquired, a.Refused, a.Extended, a.Writes, a.Stale, a.Forgot, a.Spared,
		a.Steps, a.LostReplies, a.Idle, a.Found)
}

// many runs so many schedules and returns what they came to. Each core has a process of its own, which runs one goroutine at a time: so
// whoever is woken first also goes first, and a seed is the same schedule every time. One that breaks an invariant, or brings its
// process down, fails the test with the line that replays it.
func many(t *testing.T, s Scenario, schedules int) *tally {
	t.Helper()
	workers := min(runtime.NumCPU(), schedules)
	tallies := make([]tally, workers)
	faults := make([]error, workers)
	var all sync.WaitGroup
	for i := range workers {
		part := (schedules + workers - 1 - i) / workers
		all.Go(func() { tallies[i], faults[i] = worker(t, s, *first+uint64(i), workers, part) })
	}
	all.Wait()
	sum := &tally{}
	for i, one := range tallies {
		require.NoError(t, faults[i])
		sum.merge(one)
	}
	require.Empty(t, sum.Broken)
	require.Equal(t, schedules, sum.Schedules)
	return sum
}

// plain is this program without the race detector: that makes a schedule ten times as long, and has the scheduler throw dice.
var plain = func() func(t *testing.T) string {
	var once sync.Once
	var path string
	return func(t *testing.T) string {
		t.Helper()
		once.Do(func() {
			if path = os.Args[0]; !raceDetector {
				return
			}
			path = filepath.Join(programs, "sim")
			build := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "test", "-c", "-o", path, ".")
			out, err := build.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
		return path
	}
}()

const tallyMark = "tally: "

// worker runs a process that runs every so manyth schedule.
func worker(t *testing.T, s Scenario, from uint64, every, schedules int) (sum tally, err error) {
	progress := filepath.Join(t.TempDir(), "seed")
	child := exec.CommandContext(t.Context(), plain(t), "-test.run", "^TestWorker$", "-test.timeout", "0", "-scenario", s.Name,
		"-first", strconv.FormatUint(from, 10), "-every", strconv.Itoa(every), "-schedules", strconv.Itoa(schedules), "-progress", progress)
	child.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=800") // worlds are small, and collecting one costs as much as a fifth of running it
	out, err := child.CombinedOutput()
	_, text, found := strings.Cut(string(out), tallyMark)
	if err != nil || !found {
		at, _ := os.ReadFile(progress)
		seed := binary.LittleEndian.Uint64(append(at, make([]byte, 8)...))
		return sum, fmt.Errorf("%s\n%v\n%s", seedLine(s, seed), err, out) //nolint:errorlint // it is shown, not asked
	}
	return sum, json.NewDecoder(strings.NewReader(text)).Decode(&sum)
}

// TestWorker is what a worker runs, and nobody else.
func TestWorker(t *testing.T) {
	if *progress == "" {
		return
	}
	file, err := os.Create(*progress)
	require.NoError(t, err)
	s, _ := Find(*only)
	var sum tally
	for i := range uint64(*schedules) {
		seed := *first + i*uint64(*every)
		_, err := file.WriteAt(binary.LittleEndian.AppendUint64(nil, seed), 0) // for whoever wants to know, should this process end
		require.NoError(t, err)
		sum.take(s, Run(t, s, seed, false), seed)
		if sum.Broken != "" {
			break
		}
	}
	text, err := json.Marshal(sum)
	require.NoError(t, err)
	fmt.Println(tallyMark + string(text))
}
