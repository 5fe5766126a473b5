package testcluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"
)

// MovableClocks lets [Node.SetClock] move the masters' wall clocks while they run, where [Node.Can] says so of [Clock]: on processes,
// under the conditions of [WallClocks]. Until it does they are as they are without it.
func MovableClocks() StartOption { return func(s *Settings) { s.MovableClocks = true } }

// movable is a [Master] that may be able to make the fault [Clock].
type movable interface {
	SetClock(ahead time.Duration, rate float64) error
}

// SetClock makes the master's wall clock show so much more than ours now, and go at so many times our rate from now on, until the
// next call and across kills and starts. It may be called in any state of the master.
func (n *Node) SetClock(ahead time.Duration, rate float64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	m, ok := n.master.(movable)
	if !ok || !n.master.Can(Clock) {
		return fmt.Errorf("testcluster: the wall clock of the master at %s cannot be moved: %w", n.direct, errors.ErrUnsupported)
	}
	return m.SetClock(ahead, rate)
}

// wallFileVariable tells the library where the face is.
const wallFileVariable = "WALL_CLOCK_FILE"

// face is the file in which the library that a server is loaded with finds how its wall clock stands and goes; scripts/wall-clock.c
// says what is where in it.
type face struct {
	file    *os.File
	changes byte
}

const settingSize = 64

// newFace makes a face that shows the time as it is. It is nil where no wall clock can be moved.
func newFace(path string) (*face, error) {
	if _, err := wallLibrary(); err != nil {
		return nil, nil // who needs it asks Can, and no start fails for it
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	f := &face{file: file}
	if err := errors.Join(file.Truncate(3*settingSize), f.set(time.Now(), 0, 1)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// set fills the setting that is not in force and then counts the change, which puts it in force. The two are calls of their own, so
// that no reader sees the count before the setting.
func (f *face) set(now time.Time, ahead time.Duration, rate float64) error {
	const whole = 1_000_000
	setting := make([]byte, 0, settingSize)
	for _, n := range []int64{now.Add(ahead).UnixMicro(), now.UnixMicro(), int64(rate * whole)} {
		setting = binary.NativeEndian.AppendUint64(setting, uint64(n))
	}
	next := f.changes + 1 // it goes round
	if _, err := f.file.WriteAt(setting, settingSize*(1+int64(next%2))); err != nil {
		return err
	}
	if _, err := f.file.WriteAt([]byte{next}, 0); err != nil {
		return err
	}
	f.changes = next
	return nil
}

func (p *process) SetClock(ahead time.Duration, rate float64) error {
	return p.face.set(time.Now(), ahead, rate)
}

// clockEnv returns what the server needs in its environment for its wall clock.
func (p *process) clockEnv() (map[string]string, error) {
	env, _, err := p.settings.WallClockEnv("")
	if err != nil || p.face == nil {
		return env, err
	}
	library, err := wallLibrary()
	if err != nil {
		return nil, err // cannot be: there is a face
	}
	if env == nil {
		env = make(map[string]string)
	}
	env[preloadVariable], env[wallFileVariable] = library, p.face.file.Name()
	return env, nil
}
