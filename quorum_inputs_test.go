package quorum_test

import (
	"bufio"
	"context"
	"math"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
	"github.com/quorumlock/go-redlock/redlock"
)

// F74, F76, F79: what cannot be is refused before a byte is sent: no connection is even made.
func TestBadInputIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	var nobody context.Context
	calls := map[string]struct {
		ctx context.Context //nolint:containedctx // an input like any other
		key string
		opt redlock.LockOption
		err error
	}{
		"ttl 0":                  {t.Context(), "k", redlock.WithTTL(0), redlock.ErrInvalid},
		"ttl -1ns":               {t.Context(), "k", redlock.WithTTL(-1), redlock.ErrInvalid},
		"ttl -1s":                {t.Context(), "k", redlock.WithTTL(-time.Second), redlock.ErrInvalid},
		"ttl the least":          {t.Context(), "k", redlock.WithTTL(math.MinInt64), redlock.ErrInvalid},
		"ttl below 1 ms":         {t.Context(), "k", redlock.WithTTL(time.Millisecond - 1), redlock.ErrInvalid},
		"ttl the most":           {t.Context(), "k", redlock.WithTTL(math.MaxInt64), redlock.ErrInvalid},
		"ttl 100 years":          {t.Context(), "k", redlock.WithTTL(100 * 365 * 24 * time.Hour), redlock.ErrInvalid},
		"ttl below node timeout": {t.Context(), "k", redlock.WithTTL(generous), redlock.ErrInvalid},
		"pause 0":                {t.Context(), "k", redlock.WithBackoff(0, time.Second), redlock.ErrInvalid},
		"pause upside down":      {t.Context(), "k", redlock.WithBackoff(time.Second, 1), redlock.ErrInvalid},
		"attempts -1":            {t.Context(), "k", redlock.WithMaxAttempts(-1), redlock.ErrInvalid},
		"no option":              {t.Context(), "k", nil, redlock.ErrInvalid},
		"no key":                 {t.Context(), "", redlock.WithMaxAttempts(1), redlock.ErrInvalid},
		"reserved key":           {t.Context(), "a~f:b", redlock.WithMaxAttempts(1), redlock.ErrInvalid},
		"key too long":           {t.Context(), strings.Repeat("k", 64<<10), redlock.WithMaxAttempts(1), redlock.ErrInvalid},
		"no context":             {nobody, "k", redlock.WithMaxAttempts(1), redlock.ErrInvalid},
		"ended context":          {ended(t), "k", redlock.WithMaxAttempts(1), context.Canceled},
	}
	require.True(t, until(generous, func() bool { return tr.conns() == 0 }), "those of the test before have ended")
	sent := tr.sent("")
	l := tr.open()
	for name, c := range calls {
		_, err := l.Lock(c.ctx, c.key, c.opt)
		require.ErrorIs(t, err, c.err, name)
		_, err = l.TryLock(c.ctx, c.key, c.opt)
		require.ErrorIs(t, err, c.err, name)
		if c.opt != nil && c.err != context.Canceled { //nolint:errorlint // the sentinel itself is meant
			_, err = l.With(c.opt).TryLock(c.ctx, c.key)
			require.ErrorIs(t, err, c.err, name)
		}
	}
	for _, drift := range []float64{-0.1, 1, math.NaN(), math.Inf(1)} {
		_, err := redlock.Open(tr.urls(false), redlock.WithDrift(drift))
		require.ErrorIs(t, err, redlock.ErrInvalid, "drift %v", drift)
	}
	require.Zero(t, tr.conns())
	require.Equal(t, sent, tr.sent(""))
}

// conns counts the connections of clients at all proxies.
func (tr *trial) conns() int {
	sum := 0
	for _, n := range tr.Nodes {
		sum += n.Proxy().Conns()
	}
	return sum
}

// F76: the longest TTL there is works.
func TestTheLongestTTLIsALockLikeAnyOther(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	const ttl = 10 * 365 * 24 * time.Hour
	for _, drift := range []float64{0, 0.16, 0.9} {
		l := tr.open(redlock.WithTTL(ttl), redlock.WithDrift(drift))
		lock := tr.lockAll(l, "k")
		require.InDelta(t, (1-drift)*float64(ttl), lock.Remaining(), float64(time.Minute))
		require.NoError(t, lock.Unlock(t.Context()))
		tr.gone("k")
	}
}

// F77: no two acquisitions have the same token, which is too long to be guessed.
func TestEveryAcquisitionHasATokenOfItsOwn(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	l := tr.open()
	seen := make(map[string]bool)
	for range 50 {
		lock := tr.lockAll(l, "k")
		values := tr.values("k")
		for _, v := range values {
			require.Equal(t, values[0], v, "and it is the same on all nodes")
		}
		require.GreaterOrEqual(t, len(values[0]), 26, "128 bits and more in base 32")
		require.False(t, seen[values[0]])
		seen[values[0]] = true
		require.NoError(t, lock.Unlock(t.Context()))
		tr.gone("k")
	}
}

// F73: one command sets the key and its TTL, and one gives it back, on each node: nothing can come between, and nothing is
// asked besides.
func TestALockIsOneCommandANodeAndAnUnlockAnother(t *testing.T) {
	t.Parallel()
	tr := begin(t, testcluster.Config)
	l := tr.open()
	tr.warmFor(l, "k")
	canary := tr.canary("k", tr.Addrs())
	monitored := map[int]*bufio.Scanner{canary: tr.monitor(canary), (canary + 1) % 5: tr.monitor((canary + 1) % 5)}
	lock := tr.lockAll(l, "k", redlock.WithTTL(time.Minute))
	for _, look := range tr.looks {
		require.Positive(t, look.PTTL(t.Context(), tr.prefix+"k").Val())
	}
	require.NoError(t, lock.Unlock(t.Context()))
	tr.gone("k")
	for node, heard := range monitored {
		require.NoError(t, tr.looks[node].Echo(t.Context(), "the end").Err())
		commands := tr.commands(heard)
		require.Len(t, commands, 2)
		require.Regexp(t, `^set "`+tr.prefix+`k" "\w{26}" "nx" "px" "60000"$`, commands[0])
		words := `^evalsha "[0-9a-f]{40}" "1" "` + tr.prefix + `k" "\w{26}"`
		if node == canary { // where whoever waits is to be told
			words += ` "" "` + tr.prefix + `~w:" "` + tr.prefix + `~q:k"`
		}
		require.Regexp(t, words+"$", commands[1])
	}
}

// commands are those on this trial's keys that a node was sent, until the echo, but for what the test asks itself.
func (tr *trial) commands(monitored *bufio.Scanner) []string {
	tr.t.Helper()
	command := regexp.MustCompile(`^\+\S+ \[\d+ (\S+)\] "(\w+)"(.*)$`)
	var commands []string
	for monitored.Scan() && !strings.Contains(monitored.Text(), "the end") {
		m := command.FindStringSubmatch(monitored.Text())
		if m == nil || !strings.Contains(m[3], tr.prefix) || m[1] == "lua" || m[2] == "get" || m[2] == "pttl" {
			continue // the monitor's greeting, what a script does, or what the test asks
		}
		commands = append(commands, m[2]+m[3])
	}
	require.NoError(tr.t, monitored.Err())
	return commands
}

// monitor returns the lines by which a node tells what it is told from now on.
func (tr *trial) monitor(node int) *bufio.Scanner {
	tr.t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(tr.t.Context(), "tcp", tr.Nodes[node].Direct())
	require.NoError(tr.t, err)
	tr.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(tr.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	asked := []string{"MONITOR"}
	if o := tr.looks[node].Options(); o.Password != "" {
		asked = []string{"AUTH " + o.Username + " " + o.Password, "MONITOR"}
	}
	_, err = conn.Write([]byte(strings.Join(asked, "\r\n") + "\r\n"))
	require.NoError(tr.t, err)
	lines := bufio.NewScanner(conn)
	for range asked {
		require.True(tr.t, lines.Scan())
		require.Equal(tr.t, "+OK", lines.Text())
	}
	return lines
}
