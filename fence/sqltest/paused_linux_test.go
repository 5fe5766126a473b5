package sqltest_test

import (
	"bufio"
	"database/sql"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What no lock with a timeout can prevent: A, a process of its own, is stopped before its write; B takes over and writes; A
// goes on and writes as if nothing had been. The database turns it away, the guard and the guarded UPDATE alike.
func TestAPausedHoldersWriteIsRejectedByTheDatabase(t *testing.T) {
	t.Parallel()
	for range 5 {
		db, u := database(t, 1)
		a, input, said := startHolder(t, u)
		require.Equal(t, "begun", said())
		require.NoError(t, a.Signal(syscall.SIGSTOP))
		require.NoError(t, write(t.Context(), db, sql.LevelDefault, 1, 2))
		// Only now, since a signal is delivered a little later than it is sent: A would be stopped behind its guard.
		_, err := io.WriteString(input, "write\n")
		require.NoError(t, err)
		require.NoError(t, a.Signal(syscall.SIGCONT))

		require.Equal(t, "admit: fence: stale: 1, where 2 was seen", said())
		require.Equal(t, "update: 0 <nil>", said())
		require.Equal(t, "commit: <nil>", said())
		requireRow(t, db, 1, 2)
		require.NoError(t, write(t.Context(), db, sql.LevelDefault, 1, 2), "B is not disturbed")
	}
}

// startHolder starts this binary as a holder; said returns its next line.
func startHolder(t *testing.T, u string) (a *os.Process, input io.Writer, said func() string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), holderVariable+"="+u)
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // what is stopped does not notice our end
	in, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() {
		_ = child.Process.Kill() // it has ended where all is well
		_ = child.Wait()
	})
	lines := bufio.NewScanner(out)
	return child.Process, in, func() string {
		require.True(t, lines.Scan(), "the holder has ended: %v", lines.Err())
		return lines.Text()
	}
}
