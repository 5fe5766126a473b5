package quorum_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
	"github.com/quorumlock/go-redlock/redlock"
)

func init() {
	roles["contender"] = contend
}

const (
	crewTTL  = time.Second
	crewHold = 2 * time.Millisecond
)

// A section is a line of a file, all of the same length: the number after that of the line before, who, and from when to
// when. A lost update shows as a number that is there twice, whoever was killed in the middle of what. The wall clock is the same
// for all processes here.
const (
	sectionFormat = "%08d %08d %020d %020d\n"
	sectionLength = 8 + 1 + 8 + 1 + 20 + 1 + 20 + 1
)

// contend takes turns with whoever else does, until its standard input ends.
func contend(l *redlock.Locker) error {
	redis.SetLogger(silent{})
	file, err := os.OpenFile(os.Getenv(fileVariable), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if err := warmUp(l); err != nil {
		return err
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	ctx, end := context.WithCancel(context.Background())
	go func() {
		in.Scan()
		end()
	}()
	for ctx.Err() == nil {
		if err := takeTurn(ctx, l, file); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// warmUp takes a lock that nobody else wants, so that connections stand. While many processes start that may take some tries.
func warmUp(l *redlock.Locker) error {
	ctx, cancel := bounded()
	defer cancel()
	for {
		lock, err := l.Lock(ctx, fmt.Sprint("warm", os.Getpid()))
		if err != nil {
			return err
		}
		if err = lock.Unlock(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
}

func takeTurn(ctx context.Context, l *redlock.Locker, file *os.File) error {
	lock, err := l.Lock(ctx, "k", redlock.WithTTL(crewTTL))
	from := time.Now()
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	time.Sleep(crewHold)
	if lock.Remaining() > 0 { // else this process stood still, and must not write
		to := time.Now()
		_, err = fmt.Fprintf(file, sectionFormat, info.Size()/sectionLength+1, os.Getpid(), from.UnixNano(), to.UnixNano())
		if err != nil {
			return err
		}
	}
	err = lock.Unlock(context.Background())
	if errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, redlock.ErrLost) {
		return nil // as may be while nodes die; the file tells whether anything was wrong
	}
	return err
}

// crew is processes that take turns.
type crew struct {
	tr      *trial
	file    string
	members []*child
}

// crew starts processes that take turns, in one of the roles each, and returns once all of them do.
func (tr *trial) crew(roles ...string) *crew {
	tr.t.Helper()
	c := &crew{tr: tr, file: filepath.Join(tr.t.TempDir(), "sections")}
	require.NoError(tr.t, os.WriteFile(c.file, nil, 0o600))
	for _, role := range roles {
		c.members = append(c.members, tr.child(role, fileVariable+"="+c.file, urlsVariable+"="+strings.Join(tr.urls(true), ",")))
	}
	for _, m := range c.members {
		require.Equal(tr.t, "ready", m.hear())
	}
	for _, m := range c.members {
		m.tell("go")
	}
	c.goesOn()
	return c
}

// goesOn waits until everybody may have had several more turns.
func (c *crew) goesOn() {
	c.tr.t.Helper()
	enough := len(c.sections()) + 2*len(c.members)
	require.True(c.tr.t, until(20*time.Second, func() bool { return len(c.sections()) >= enough }), "nobody gets on")
}

// end lets all that live end, and those that were not killed end well.
func (c *crew) end(killed ...*child) {
	c.tr.t.Helper()
	for _, m := range c.members {
		require.NoError(c.tr.t, m.in.Close())
	}
members:
	for _, m := range c.members {
		err := m.end()
		for _, k := range killed {
			if k == m {
				continue members
			}
		}
		require.NoError(c.tr.t, err)
	}
}

// section is a turn that somebody had.
type section struct {
	number, who int
	hold
}

func (c *crew) sections() []section {
	c.tr.t.Helper()
	text, err := os.ReadFile(c.file)
	require.NoError(c.tr.t, err)
	all := make([]section, len(text)/sectionLength)
	for i := range all {
		var from, to int64
		s := &all[i]
		_, err := fmt.Sscanf(string(text[i*sectionLength:(i+1)*sectionLength]), "%d %d %d %d\n", &s.number, &s.who, &from, &to)
		require.NoError(c.tr.t, err)
		s.hold = hold{time.Unix(0, from), time.Unix(0, to)}
	}
	return all
}

// exact holds that no update was lost, and that no two were inside at once.
func (c *crew) exact() {
	c.tr.t.Helper()
	all := c.sections()
	for i, s := range all {
		require.Equal(c.tr.t, i+1, s.number, "the update before was lost")
		if i > 0 {
			require.False(c.tr.t, s.from.Before(all[i-1].to), "%d and %d were inside at once", all[i-1].who, s.who)
		}
	}
}

// during holds that while something is done, and until all have got on after it, nobody waits for a free key longer than twice
// the poll's bound.
func (c *crew) during(what string, f func()) {
	c.tr.t.Helper()
	c.neverFree(what, &carried{}, func() int { f(); return 0 })
}

// duringDeaths is during where f returns how many may have died, or stood still, with the lock in their hands: so often it may be
// carried by the masters for its TTL, and is free after that. The masters have to be up.
func (c *crew) duringDeaths(what string, f func() int) {
	c.tr.t.Helper()
	c.neverFree(what, c.tr.carried("k"), f)
}

func (c *crew) neverFree(what string, key *carried, f func() (excused int)) {
	t := c.tr.t
	t.Helper()
	before := len(c.sections()) - 1
	bound := 2 * max(100*time.Millisecond, time.Duration(len(c.members))*10*time.Millisecond)
	w := watchTimers()
	excused := f()
	c.goesOn()
	key.close()
	limit := bound + slack + 2*w.close()
	c.exact()
	seen := c.sections()[before:]
	var longest, excuse time.Duration
	for i := range seen[1:] {
		free := seen[i+1].from.Sub(seen[i].to)
		if free > limit && excused > 0 {
			excused--
			excuse = max(excuse, free)
			require.LessOrEqual(t, free, limit+crewTTL, what)
			free -= key.within(seen[i].to, seen[i+1].from)
		}
		longest = max(longest, free)
		require.LessOrEqual(t, free, limit, "%s: %d processes waited for a free key, after section %d\n%s", what, len(c.members), seen[i].number,
			key.story(seen[i].to, seen[i+1].from))
	}
	t.Logf("%s: %d sections in %v; free for at most %v of %v; with the token of somebody who was gone not had for at most %v", what, len(seen)-1,
		seen[len(seen)-1].to.Sub(seen[0].to).Round(time.Millisecond), longest, limit, excuse)
}

// canary is the node that clients of these addresses ask first about a key.
func (tr *trial) canary(key string, addrs []string) int {
	names := make([]uint64, len(addrs))
	for i, addr := range addrs {
		names[i] = quorum.NameHash(addr)
	}
	return quorum.Canary(tr.prefix+key, names, func(int) bool { return true })
}

// directs are the addresses of the masters themselves.
func (tr *trial) directs() []string {
	var addrs []string
	for _, n := range tr.Nodes {
		addrs = append(addrs, n.Direct())
	}
	return addrs
}

// times returns the word so many times.
func times(n int, word string) []string {
	return strings.Fields(strings.Repeat(word+" ", n))
}
