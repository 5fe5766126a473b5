// Package crew drives one hot key from several processes: a small program, started
// as often as asked, its connections warm, released by a barrier. The members
// do not talk to one another but through the lock.
package crew

import (
	"encoding/json"
	"fmt"
	"time"
)

// Order is what one process of the crew does.
type Order struct {
	Contender string        `json:"contender"`
	Addrs     []string      `json:"addrs"`
	Callers   int           `json:"callers"`
	Hold      time.Duration `json:"hold"`
	// Loop has the callers try without waiting, and again at once, as nobody should.
	Loop bool `json:"loop,omitempty"`
	// Once is the window of a newcomer: it takes one turn without having warmed up,
	// and its process ends. Its times are since the window's begin, not its own.
	Once *Window `json:"once,omitempty"`
}

// Window is one slice of taking turns on a key. A caller begins to wait only inside
// it; who waits at its end may go on for Drain, so that long waits are not cut off.
type Window struct {
	Key    string        `json:"key"`
	From   int64         `json:"from"` // Unix time in nanoseconds: the barrier
	Length time.Duration `json:"length"`
	Drain  time.Duration `json:"drain"`
}

// Turn is one section. Its times are since the barrier.
type Turn struct {
	Caller int
	Asked  time.Duration // the wait began
	Had    time.Duration // the lock was had
	Left   time.Duration // the release began
}

// MarshalJSON writes a turn as four numbers: there are thousands of them.
func (t Turn) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]int64{int64(t.Caller), int64(t.Asked), int64(t.Had), int64(t.Left)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Turn) UnmarshalJSON(text []byte) error {
	var four [4]int64
	if err := json.Unmarshal(text, &four); err != nil {
		return fmt.Errorf("crew: a turn: %w", err)
	}
	*t = Turn{int(four[0]), time.Duration(four[1]), time.Duration(four[2]), time.Duration(four[3])}
	return nil
}

// Report is what one process saw in one window.
type Report struct {
	Turns        []Turn          `json:"turns,omitempty"`
	GaveUp       []time.Duration `json:"gave_up,omitempty"` // how long those had waited who had no turn until the drain's end
	Failures     int             `json:"failures,omitempty"`
	FirstFailure string          `json:"first_failure,omitempty"`
}

func (r *Report) fail(err error) {
	r.Failures++
	if r.FirstFailure == "" {
		r.FirstFailure = err.Error()
	}
}

func (r *Report) add(other *Report) {
	r.Turns = append(r.Turns, other.Turns...)
	r.GaveUp = append(r.GaveUp, other.GaveUp...)
	r.Failures += other.Failures
	if r.FirstFailure == "" {
		r.FirstFailure = other.FirstFailure
	}
}
