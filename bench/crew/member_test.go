package crew

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/bench/contender"
)

// debtor cannot pay what it owes.
type debtor struct{ contender.Contender }

func (debtor) Close() error { return errors.New("still owed") }

func TestANewcomerThatCannotPayWhatItOwesIsReportedAndNoError(t *testing.T) {
	t.Parallel()
	over := Barrier("key", time.Millisecond, 0)
	over.From -= int64(time.Minute)
	m := member{Order: Order{Callers: 1, Once: &over}, contender: debtor{}}
	r := m.once(t.Context())
	require.Equal(t, 1, r.Failures)
	require.Equal(t, "still owed", r.FirstFailure)
}

func TestClocksThatWereReadTooFarApartAreReadAgain(t *testing.T) {
	t.Parallel()
	readings := []time.Duration{-30 * time.Millisecond, 0, -2 * time.Second, 5, 7, 9}
	require.Equal(t, time.Duration(7), untorn(func() time.Duration {
		next := readings[0]
		readings = readings[1:]
		return next
	}))
	require.Len(t, readings, 1)
}
