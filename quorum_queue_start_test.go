package quorum_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

func init() {
	roles["starter"] = startWhenTold
}

const (
	starters = 64
	starts   = 20
)

// startWhenTold is told a key and a moment in a line, and locks it then, until it is told that it is over. It says after how
// many nanoseconds it had the lock, or that it had not. Told "warm" it asks until all five nodes answer.
func startWhenTold(*redlock.Locker) error {
	redis.SetLogger(silent{})
	l, err := redlock.Open(strings.Split(os.Getenv(urlsVariable), ","), redlock.WithPrefix(os.Getenv(prefixVariable)))
	if err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == "warm" {
			if err := warmUp(l); err != nil {
				return err
			}
			if err := answered(l); err != nil {
				return err
			}
			fmt.Println("warm")
			continue
		}
		var key string
		var at int64
		if _, err := fmt.Sscan(in.Text(), &key, &at); err != nil {
			return err
		}
		ctx, over := context.WithCancel(context.Background())
		said := make(chan struct{})
		go func() {
			defer close(said)
			fmt.Println(startAt(ctx, l, key, time.Unix(0, at)))
		}()
		in.Scan()
		over()
		<-said
	}
	return nil
}

// answered asks until all nodes answer.
func answered(l *redlock.Locker) error {
	ctx, cancel := bounded()
	defer cancel()
	for {
		seen, err := l.Inspect(ctx, "k")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(seen.Nodes, func(n redlock.NodeState) bool { return n.Err != nil }) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func startAt(ctx context.Context, l *redlock.Locker, key string, at time.Time) string {
	time.Sleep(time.Until(at))
	lock, err := l.Lock(ctx, key, redlock.WithTTL(crewTTL))
	took := time.Since(at)
	if err != nil {
		return "not"
	}
	_ = lock.Unlock(context.Background()) // however it ends: nobody counts on it
	return strconv.FormatInt(int64(took), 10)
}

// withoutRaceDetector is a build of these tests for processes of which there are so many that the detector in each would be all that the
// machine has time for.
func withoutRaceDetector(t *testing.T) string {
	t.Helper()
	if !raceDetector {
		program, err := os.Executable()
		require.NoError(t, err)
		return program
	}
	program := filepath.Join(t.TempDir(), "tests")
	said, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", said)
	return program
}

// crowd is processes that start at once.
type crowd struct {
	tr   *trial
	all  []*child
	said chan string // what they say, each a line at a time
}

func (tr *trial) crowd(n int) *crowd {
	tr.t.Helper()
	c := &crowd{tr: tr, said: make(chan string, n)}
	program := withoutRaceDetector(tr.t)
	for range n {
		m := tr.childOf(program, "starter", urlsVariable+"="+strings.Join(tr.urls(true), ","))
		c.all = append(c.all, m)
		go func() {
			for m.said.Scan() {
				c.said <- m.said.Text()
			}
		}()
	}
	c.warm()
	return c
}

func (c *crowd) tell(line string) {
	c.tr.t.Helper()
	for _, m := range c.all {
		m.tell(line)
	}
}

// hear returns the next line of any of them.
func (c *crowd) hear(what string) string {
	c.tr.t.Helper()
	select {
	case line := <-c.said:
		return line
	case <-time.After(time.Minute):
		require.Fail(c.tr.t, "nothing is heard", what)
		return ""
	}
}

// warm waits until all nodes answer all of them.
func (c *crowd) warm() {
	c.tr.t.Helper()
	c.tell("warm")
	for range c.all {
		require.Equal(c.tr.t, "warm", c.hear("warm"))
	}
}

// start releases all at once on a key, and returns after how long the first had it: within limit, as far as this machine lets
// anybody.
func (c *crowd) start(key string, limit time.Duration) time.Duration {
	t := c.tr.t
	t.Helper()
	w := watchTimers()
	at := time.Now().Add(50 * time.Millisecond)
	c.tell(fmt.Sprint(key, " ", at.UnixNano()))
	lines := []string{c.hear("no winner of " + key)}
	late := w.close()
	c.tell("over")
	for range c.all[1:] {
		lines = append(lines, c.hear("over"))
	}
	first := time.Hour
	for _, line := range lines {
		if line == "not" {
			continue
		}
		took, err := strconv.ParseInt(line, 10, 64)
		require.NoError(t, err)
		first = min(first, time.Duration(took))
	}
	require.LessOrEqual(t, first, limit+slack+2*late, "%s; a bare timer was %v late", key, late)
	return first
}

// F49: processes that ask at the same moment, on connections that stand, split the five nodes between them; the canary
// breaks the tie, and one has the lock at once.
func TestOfProcessesThatStartAtOnceOneHasTheLockAtOnce(t *testing.T) {
	tr := begin(t, testcluster.Stop)
	processes := starters
	if tr.Backend == testcluster.Embedded {
		processes /= 8 // these share our processors and interpret every script
	}
	if tr.Backend == testcluster.Containers {
		processes /= 4 // every byte goes through a process of Docker's, which shares them, too
	}
	c := tr.crowd(processes)
	var well, hung []time.Duration
	for i := range starts {
		well = append(well, c.start(fmt.Sprint("k", i), 100*time.Millisecond))
	}
	for i := 0; len(hung) < starts; i++ {
		key := fmt.Sprint("hung", i)
		const node = 2
		if tr.canary(key, tr.directs()) != node {
			continue
		}
		if len(hung)%5 == 0 { // the others find it hung since the start before
			tr.each([]int{node}, cont)
			c.warm()
			tr.each([]int{node}, stop)
		}
		hung = append(hung, c.start(key, 500*time.Millisecond))
	}
	tr.each(all, cont)
	slices.Sort(well)
	slices.Sort(hung)
	t.Logf("%d processes; the first had it after %v; with the canary hung after %v", processes, well, hung)
}
