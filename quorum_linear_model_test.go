package quorum_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// asked is what an operation on a number that several share is to do: to read it, or to put another in its place.
type asked struct {
	write bool
	value int64 // of a write to a register
}

// said is what came of it.
type said struct {
	found int64 // what a read returned, or what a write replaced
	open  bool  // a write of which nobody knows: it happened, never will, or is still to happen
}

// number is the model of such a number, which is 0 at first. Every operation happens in one moment between its beginning and its
// end: a read finds what is there, a write replaces what it says that it replaced. No number comes twice. So an open write that is
// put where its number is not there has never happened; where it is, it happened there, and the checker puts it later if it did not.
func number(next func(found int64, in asked) int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, output any) (bool, any) {
			now, in, out := state.(int64), input.(asked), output.(said)
			switch {
			case out.found != now:
				return out.open, now
			case in.write:
				return true, next(now, in)
			}
			return true, now
		},
	}
}

var (
	register = number(func(_ int64, in asked) int64 { return in.value })
	counter  = number(func(found int64, _ asked) int64 { return found + 1 })
)

// annals is what the clients of a number write down. Its ticks put all beginnings and ends into one order, in which nothing is
// earlier than it was.
type annals struct {
	ticks atomic.Int64

	mu      sync.Mutex // protects what follows
	entries []porcupine.Operation
	opens   int
	stale   int // writes and reads that were refused, which have no effect and are not among the entries
}

// openEnd is the end of what is open.
const openEnd = math.MaxInt64

func (l *annals) begin() int64 { return l.ticks.Add(1) }

func (l *annals) note(client int, in asked, out said, began int64) {
	end := l.ticks.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if out.open {
		end = openEnd
		l.opens++
	}
	l.entries = append(l.entries, porcupine.Operation{ClientId: client, Input: in, Call: began, Output: out, Return: end})
}

func (l *annals) refused() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale++
}

func (l *annals) sum() (entries, opens, stale int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries), l.opens, l.stale
}

// checkLimit is for how long the checker may look. It needs a thousandth of that, but for histories of many open writes.
const checkLimit = 10 * time.Second

func (l *annals) check(model porcupine.Model) porcupine.CheckResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	return porcupine.CheckOperationsTimeout(model, l.entries, checkLimit)
}

// mustBeLinearizable prints the history if it is not.
func (l *annals) mustBeLinearizable(t *testing.T, model porcupine.Model) {
	t.Helper()
	if result := l.check(model); result != porcupine.Ok {
		require.Fail(t, "the history is not shown to be linearizable", "%s:\n%v", result, l)
	}
}

func (l *annals) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all strings.Builder
	for _, e := range slices.SortedFunc(slices.Values(l.entries), func(a, b porcupine.Operation) int { return int(a.Call - b.Call) }) {
		fmt.Fprintf(&all, "%d to %d, client %d: %+v found %+v\n", e.Call, e.Return, e.ClientId, e.Input, e.Output)
	}
	return all.String()
}

// happened is an operation as the tests write it by hand.
func happened(began, end int64, in asked, found int64) porcupine.Operation {
	return porcupine.Operation{Input: in, Call: began, Output: said{found: found, open: end == openEnd}, Return: end}
}

func writes(value int64) asked { return asked{write: true, value: value} }

var reads = asked{}

func TestTheCheckerTellsHistoriesOfARegisterApart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		history []porcupine.Operation
		want    porcupine.CheckResult
	}{
		"one after the other": {[]porcupine.Operation{happened(1, 2, writes(7), 0), happened(3, 4, reads, 7)}, porcupine.Ok},
		"a read of what is being written": {[]porcupine.Operation{
			happened(1, 6, writes(7), 0), happened(2, 3, reads, 0), happened(4, 5, reads, 7),
		}, porcupine.Ok},
		"a write nobody knows of that nobody sees": {[]porcupine.Operation{
			happened(1, openEnd, writes(7), 0), happened(2, 3, reads, 0), happened(4, 5, writes(8), 0), happened(6, 7, reads, 8),
		}, porcupine.Ok},
		"a write nobody knows of that is seen late": {[]porcupine.Operation{
			happened(1, openEnd, writes(7), 0), happened(2, 3, reads, 0), happened(4, 5, reads, 7), happened(6, 7, writes(8), 7),
		}, porcupine.Ok},
		"a read of what was":                  {[]porcupine.Operation{happened(1, 2, writes(7), 0), happened(3, 4, reads, 0)}, porcupine.Illegal},
		"a read of what nobody wrote":         {[]porcupine.Operation{happened(1, 2, writes(7), 0), happened(3, 4, reads, 8)}, porcupine.Illegal},
		"a read of what is yet to be written": {[]porcupine.Operation{happened(1, 2, reads, 7), happened(3, 4, writes(7), 0)}, porcupine.Illegal},
		"two writes that replace the same": {[]porcupine.Operation{
			happened(1, 3, writes(7), 0), happened(2, 4, writes(8), 0),
		}, porcupine.Illegal},
		"a write that comes back": {[]porcupine.Operation{
			happened(1, 2, writes(7), 0), happened(3, 4, writes(8), 7), happened(5, 6, reads, 8), happened(7, 8, reads, 7),
		}, porcupine.Illegal},
		"a write nobody knows of that is seen and then is not": {[]porcupine.Operation{
			happened(1, openEnd, writes(7), 0), happened(2, 3, reads, 7), happened(4, 5, reads, 0),
		}, porcupine.Illegal},
		"a write nobody knows of in the place of another": {[]porcupine.Operation{
			happened(1, openEnd, writes(7), 0), happened(2, 3, writes(8), 0), happened(4, 5, reads, 8), happened(6, 7, reads, 7),
		}, porcupine.Illegal},
	} {
		l := &annals{entries: tt.history}
		require.Equal(t, tt.want, l.check(register), "%s:\n%v", name, l)
	}
}

// As many open writes as any history here has are not too many for the checker to say no.
func TestTheCheckerSaysNoBehindManyOpenWrites(t *testing.T) {
	t.Parallel()
	l := &annals{}
	for i := range int64(mostLost) {
		l.entries = append(l.entries, happened(3*i+1, openEnd, writes(2*i+1), 2*i), happened(3*i+2, 3*i+3, writes(2*i+2), 2*i))
	}
	l.mustBeLinearizable(t, register)
	l.entries = append(l.entries, happened(3*mostLost+1, 3*mostLost+2, reads, 1))
	require.Equal(t, porcupine.Illegal, l.check(register))
}

func TestTheCheckerTellsHistoriesOfACounterApart(t *testing.T) {
	t.Parallel()
	add := asked{write: true}
	for name, tt := range map[string]struct {
		history []porcupine.Operation
		want    porcupine.CheckResult
	}{
		"one after the other":                   {[]porcupine.Operation{happened(1, 2, add, 0), happened(3, 4, add, 1), happened(5, 6, reads, 2)}, porcupine.Ok},
		"in any order where they overlap":       {[]porcupine.Operation{happened(1, 5, add, 1), happened(2, 6, add, 0), happened(3, 4, reads, 1)}, porcupine.Ok},
		"one nobody knows of that counts":       {[]porcupine.Operation{happened(1, openEnd, add, 0), happened(2, 3, add, 1), happened(4, 5, reads, 2)}, porcupine.Ok},
		"one nobody knows of that does not":     {[]porcupine.Operation{happened(1, openEnd, add, 0), happened(2, 3, add, 0), happened(4, 5, reads, 1)}, porcupine.Ok},
		"one that is lost":                      {[]porcupine.Operation{happened(1, 3, add, 0), happened(2, 4, add, 0)}, porcupine.Illegal},
		"one that is lost and read":             {[]porcupine.Operation{happened(1, 2, add, 0), happened(3, 4, add, 1), happened(5, 6, reads, 1)}, porcupine.Illegal},
		"one that counts twice":                 {[]porcupine.Operation{happened(1, 2, add, 0), happened(3, 4, reads, 2)}, porcupine.Illegal},
		"one that goes back":                    {[]porcupine.Operation{happened(1, 2, add, 0), happened(3, 4, reads, 1), happened(5, 6, reads, 0)}, porcupine.Illegal},
		"one nobody knows of that counts twice": {[]porcupine.Operation{happened(1, openEnd, add, 0), happened(2, 3, reads, 2)}, porcupine.Illegal},
	} {
		l := &annals{entries: tt.history}
		require.Equal(t, tt.want, l.check(counter), "%s:\n%v", name, l)
	}
}
