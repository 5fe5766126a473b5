package quorum_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/go-redlock/clock"
	"github.com/quorumlock/go-redlock/redlock"
)

// What a process is told that takes fenced locks.
const (
	guardVariable   = "REDLOCK_TEST_GUARD"   // where the guards are
	wallVariable    = "REDLOCK_TEST_WALL"    // by how much its wall clock is ahead
	swallowVariable = "REDLOCK_TEST_SWALLOW" // its fences are not written back
	proxiesVariable = "REDLOCK_TEST_PROXIES" // the addresses in the urls
	mastersVariable = "REDLOCK_TEST_MASTERS" // and what is behind them
)

const (
	fenceTTL     = 2 * time.Second
	fenceTimeout = 500 * time.Millisecond
	hotKeys      = 800  // of these three of four locks are
	coldKeys     = 8000 // each of these rests for longer than a node may be away, for its counter to be missed then
	fenceCallers = 24   // a process
	seldom       = 600
)

// apart is a clock whose wall clock is ahead.
type apart struct {
	clock.Clock
	ahead time.Duration
}

func (a apart) Wall() time.Time { return a.Clock.Wall().Add(a.ahead) }

// tried counts the attempts of this process, writtenBack the fences that it wrote back.
var tried, writtenBack atomic.Int64

// openFencer is the Locker of a process that takes fenced locks.
func openFencer() (*redlock.Locker, error) {
	redis.SetLogger(silent{})
	ahead, err := time.ParseDuration(os.Getenv(wallVariable))
	if err != nil {
		return nil, err
	}
	urls := strings.Split(os.Getenv(urlsVariable), ",")
	return redlock.Open(urls,
		redlock.WithPrefix(os.Getenv(prefixVariable)), redlock.WithNodeTimeout(fenceTimeout),
		redlock.WithClock(apart{clock.System(), ahead}), redlock.WithTTL(fenceTTL), redlock.WithFencing(),
		watch{
			script: writeBack, url: urls[0], sent: &writtenBack, swallow: os.Getenv(swallowVariable) != "",
			around: around(strings.Split(os.Getenv(proxiesVariable), ","), strings.Split(os.Getenv(mastersVariable), ",")),
		}.option())
}

// takeFenced takes locks on keys at random and presents their fences to the guards, until these have enough.
func takeFenced(*redlock.Locker) error {
	l, err := openFencer()
	if err != nil {
		return err
	}
	var g errgroup.Group
	for i := range fenceCallers {
		g.Go(func() error {
			var d net.Dialer
			conn, err := d.DialContext(context.Background(), "tcp", os.Getenv(guardVariable))
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			f := &fencer{
				locker: l, name: fmt.Sprintf("%s/%d", os.Getenv(wallVariable), i), guard: conn, answers: bufio.NewScanner(conn),
				random: rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(i))),
			}
			for !f.over {
				if err := f.once(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = g.Wait()
	fmt.Println(tried.Load(), "tried,", writtenBack.Load(), "written back")
	return err
}

// fencer is one caller.
type fencer struct {
	locker  *redlock.Locker
	name    string
	guard   net.Conn
	answers *bufio.Scanner
	random  *rand.Rand
	taken   int
	past    [8]string // what it presented last, of locks that it holds no longer; "" is none
	verdict string    // of the lock before, for the guards; it goes with the next line
	over    bool
}

// once takes a lock that is free, presents its fence, and gives it back, or now and then lets it run out; and now and then
// writes with the fence of an older one.
func (f *fencer) once() error {
	ctx := context.Background()
	key := f.random.IntN(hotKeys)
	if f.random.IntN(4) == 0 {
		key = hotKeys + f.random.IntN(coldKeys)
	}
	tried.Add(1)
	lock, err := f.locker.TryLock(ctx, fmt.Sprint("k", key))
	if err != nil {
		if errors.Is(err, redlock.ErrTaken) {
			return nil
		}
		time.Sleep(time.Duration(f.random.Int64N(int64(10 * time.Millisecond)))) // the nodes are in trouble, or the round was split
		return f.ask("over")
	}
	f.taken++
	what := fmt.Sprintf("%d %s.%d %d", key, f.name, f.taken, lock.Fence())
	if err := f.ask("held " + what); err != nil {
		return err
	}
	f.verdict = "valid\n"
	if lock.Remaining() == 0 {
		f.verdict = "late\n"
	}
	if f.random.IntN(seldom) == 0 {
		time.Sleep(lock.Remaining())
		time.Sleep(time.Duration(f.random.Int64N(int64(100 * time.Millisecond)))) // for somebody else to come
	} else {
		_ = lock.Unlock(ctx) // where it fails the key runs out
	}
	f.past[f.random.IntN(len(f.past))] = what
	if old := f.past[f.random.IntN(len(f.past))]; old != "" && f.random.IntN(4) == 0 {
		return f.ask("write " + old)
	}
	return nil
}

// ask says a line to the guards and hears whether it is all over.
func (f *fencer) ask(line string) error {
	if _, err := fmt.Fprintln(f.guard, f.verdict+line); err != nil {
		return err
	}
	if !f.answers.Scan() {
		return fmt.Errorf("the guards have gone: %w", f.answers.Err())
	}
	f.over, f.verdict = f.answers.Text() == "true", ""
	return nil
}
