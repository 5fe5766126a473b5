package quorum_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/fence"
)

// guards are resources that locks protect, one for each key, which the holders in other processes write to over a socket:
// what all of them did has one order. A holder presents its fence while it holds, and says after the answer whether it still
// holds. If it does, it came after everybody before it in that order, and so its fence must be larger than theirs.
type guards struct {
	t       *testing.T
	listen  net.Listener
	keys    []guarded
	wanted  int64
	reached chan struct{} // closed once so many acquisitions were seen as wanted, or a violation where one is enough
	once    sync.Once
	any     bool // one violation is enough
	serving sync.WaitGroup

	acquisitions, late, stale atomic.Int64

	mu         sync.Mutex // protects what follows
	violations []string
}

// guarded is one resource.
type guarded struct {
	mu     sync.Mutex // makes one step of a fence's admission and its note
	guard  fence.Memory
	holder string // the last that was admitted
}

// presented is a fence that its holder is still to say of whether it was in time.
type presented struct {
	key       int
	violation string // what it would prove; "" if all is well
}

// guardsOf starts the guards of so many keys. They end with the test.
func guardsOf(t *testing.T, keys int, wanted int64, enough bool) *guards {
	t.Helper()
	var c net.ListenConfig
	ln, err := c.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &guards{t: t, listen: ln, keys: make([]guarded, keys), wanted: wanted, any: enough, reached: make(chan struct{})}
	g.serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			g.serving.Go(func() { g.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		g.serving.Wait() // the other processes have ended before: their ends were cleaned up after this was set up
	})
	return g
}

// serve answers one holder until it ends. It says "held key who fence", then "valid" or "late", and "write key who fence"
// for a lock that it holds no longer; it hears whether it is all over, and may also just ask that.
func (g *guards) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	var last presented
	for in := bufio.NewScanner(conn); in.Scan(); {
		verb, what, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "valid":
			g.judge(last)
			continue
		case "late":
			g.late.Add(1)
			continue
		case "held", "write":
			key, who, number, err := parsePresented(what)
			if err != nil {
				g.t.Errorf("%q: %v", in.Text(), err)
				return
			}
			if verb == "held" {
				last = g.present(key, who, number)
			} else {
				g.write(key, who, number)
			}
		}
		if _, err := fmt.Fprintln(conn, g.isOver()); err != nil {
			return
		}
	}
}

func parsePresented(what string) (key int, who string, number int64, err error) {
	words := strings.Fields(what)
	if len(words) != 3 {
		return 0, "", 0, errors.New("not three words")
	}
	key, err1 := strconv.Atoi(words[0])
	number, err2 := strconv.ParseInt(words[2], 10, 64)
	return key, words[1], number, errors.Join(err1, err2)
}

// present is a holder's first write.
func (g *guards) present(key int, who string, number int64) presented {
	k := &g.keys[key]
	k.mu.Lock()
	defer k.mu.Unlock()
	p := presented{key: key}
	highest := k.guard.Highest()
	if number <= highest {
		p.violation = fmt.Sprintf("key %d: %s has fence %d, and %s before it had %d", key, who, number, k.holder, highest)
	}
	if k.guard.Admit(context.Background(), number) == nil {
		k.holder = who
	}
	return p
}

// write is a later write. If another holder came meanwhile it must be refused.
func (g *guards) write(key int, who string, number int64) {
	k := &g.keys[key]
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holder == who {
		return // nobody came: it is not stale
	}
	g.stale.Add(1)
	if k.guard.Admit(context.Background(), number) == nil {
		g.violated(fmt.Sprintf("key %d: the write of %s with fence %d was admitted after %s", key, who, number, k.holder))
	}
}

// judge counts an acquisition whose holder still held after its fence was noted.
func (g *guards) judge(p presented) {
	if p.violation != "" {
		g.violated(p.violation)
	}
	if g.acquisitions.Add(1) == g.wanted {
		g.end()
	}
}

func (g *guards) violated(how string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.violations = append(g.violations, fmt.Sprintf("after %d acquisitions: %s", g.acquisitions.Load(), how))
	if g.any {
		g.end()
	}
}

// await returns when the guards have seen enough, or when limit has passed.
func (g *guards) await(limit time.Duration) {
	select {
	case <-g.reached:
	case <-time.After(limit):
		g.end()
	}
}

func (g *guards) end() { g.once.Do(func() { close(g.reached) }) }

func (g *guards) isOver() bool {
	select {
	case <-g.reached:
		return true
	default:
		return g.t.Context().Err() != nil
	}
}

// found are the violations so far.
func (g *guards) found() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.violations
}
