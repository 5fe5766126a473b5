package quorum_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/redlock"
)

// footprint is what this process holds.
type footprint struct {
	goroutines, files int
	heap              int64
}

// allowed is by how much the footprint may be larger than at the base line: no goroutine; two files a node, for a connection that
// was broken and one that took its place; and 1 MiB, which of a million cycles is a byte each.
var allowed = footprint{goroutines: 0, files: 2 * 5, heap: 1 << 20}

func measure() footprint {
	return footprint{goroutines: goroutineCount(), files: descriptors(), heap: heap()}
}

func (f footprint) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %d KiB of heap", f.goroutines, f.files, f.heap>>10)
}

// above is nil where the footprint has come back to the base line, and else says what has not.
func (f footprint) above(base footprint) error {
	var errs []error
	if f.goroutines > base.goroutines+allowed.goroutines {
		errs = append(errs, fmt.Errorf("%d goroutines, %d more than before", f.goroutines, f.goroutines-base.goroutines))
	}
	if f.files > base.files+allowed.files {
		errs = append(errs, fmt.Errorf("%d open files, %d more than before", f.files, f.files-base.files))
	}
	if f.heap > base.heap+allowed.heap {
		errs = append(errs, fmt.Errorf("%d bytes of heap, %d more than before", f.heap, f.heap-base.heap))
	}
	return errors.Join(errs...)
}

// settled measures until the footprint has come back to the base line, and returns the last one, and what of it has not by the limit.
func settled(base footprint, limit time.Duration) (f footprint, err error) {
	until(limit, func() bool {
		f = measure()
		err = f.above(base)
		return err == nil
	})
	return f, err
}

// Not parallel, since it counts what this process holds. What each of a hundred cycles leaves behind is seen by what the soak
// measures with, and is not once it is gone.
func TestTheSoakSeesWhatEachCycleLeavesBehind(t *testing.T) {
	tr := begin(t)
	l := tr.openAt(tr.urls(true), redlock.WithTTL(soakTTL), redlock.WithNodeTimeout(soakTimeout))
	leaking := func(leak func() error) error {
		return each(100, func(caller, i int) error {
			_ = cycle(t.Context(), l, fmt.Sprint("k", caller), i) // however it goes
			return leak()
		})
	}
	require.NoError(t, leaking(func() error { return nil }))
	tr.atRest(l)
	base := measure()
	over := make(chan struct{})
	var mu sync.Mutex // protects files and kept
	var files []*os.File
	var kept [][]byte
	leaks := map[string]func() error{
		"goroutines": func() error {
			ended := over
			go func() { <-ended }()
			return nil
		},
		"bytes of heap": func() error {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, make([]byte, 64<<10))
			return nil
		},
	}
	if descriptors() > 0 { // else nobody can count them here
		leaks["open files"] = func() error {
			mu.Lock()
			defer mu.Unlock()
			f, err := os.Open(os.DevNull)
			files = append(files, f)
			return err
		}
	}
	for what, leak := range leaks {
		require.NoError(t, leaking(leak))
		_, err := settled(base, 500*time.Millisecond)
		require.ErrorContains(t, err, what)
		close(over)
		over = make(chan struct{})
		for _, f := range files {
			require.NoError(t, f.Close())
		}
		files, kept = nil, nil
		_, err = settled(base, 10*time.Second)
		require.NoError(t, err, "after the %s have gone", what)
	}
}
