package testcluster_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// victimVariable makes this test binary start masters of the back end it names, print where they are, and wait.
const victimVariable = "TESTCLUSTER_VICTIM"

func TestMain(m *testing.M) {
	if b := os.Getenv(victimVariable); b != "" {
		victim(testcluster.Backend(b))
		return
	}
	code := m.Run()
	if left := leftGoroutines(); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left of closed clusters:\n"+left)
		code = 1
	}
	os.Exit(code)
}

// leftGoroutines returns the stacks of proxies and masters that still run, after a while for those that are ending.
func leftGoroutines() string {
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		buf := make([]byte, 4<<20)
		var left []string
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "/internal/testcluster.(*") || strings.Contains(stack, "/miniredis/") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 || time.Since(begin) > patience {
			return strings.Join(left, "\n\n")
		}
	}
}

func victim(b testcluster.Backend) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := testcluster.Start(ctx, b, 2)
	if err == nil && c.Nodes[1].Can(testcluster.Partition) {
		err = c.Nodes[1].Partition(ctx)
	}
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(c.Nodes[0].Direct(), c.Nodes[1].Direct())
	select {}
}

// runVictim starts a victim with masters of a back end and its own folder for temporary files, and returns it with
// their addresses. It is killed at the end of the test.
func runVictim(t *testing.T, b testcluster.Backend, temp string) (*exec.Cmd, []string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	process := exec.Command(self)
	process.Env = append(os.Environ(), victimVariable+"="+string(b), "TMPDIR="+temp)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait() // reports the kill
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addrs := strings.Fields(line)
	require.Len(t, addrs, 2, line)
	return process, addrs
}

func TestNothingOutlivesAProcessThatIsKilled(t *testing.T) {
	forEachBackend(t, func(t *testing.T, b testcluster.Backend) {
		if b == testcluster.Processes && runtime.GOOS != "linux" {
			return // child processes outlive their parent there, as the documentation of the package says
		}
		process, addrs := runVictim(t, b, t.TempDir())
		require.Equal(t, "+PONG", dial(t, addrs[0]).ask("PING"))

		require.NoError(t, process.Process.Kill())
		for _, addr := range addrs {
			require.Eventually(t, func() bool {
				conn, err := net.DialTimeout("tcp", addr, time.Second)
				if err == nil {
					_ = conn.Close()
					return false
				}
				return strings.Contains(err.Error(), "refused") // and not a packet filter that is left
			}, time.Minute, 20*time.Millisecond, addr)
			require.Eventually(t, func() bool { return leftovers(t, b, addr) == "" }, time.Minute, 20*time.Millisecond)
		}
	})
}

func TestFoldersOfKilledProcessesAreRemovedByTheNext(t *testing.T) {
	needPresent(t, testcluster.Processes)
	temp := t.TempDir()
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	left := filepath.Join(temp, fmt.Sprintf("go-redlock-master-%d-1", ended.Process.Pid))
	used := filepath.Join(temp, fmt.Sprintf("go-redlock-master-%d-1", os.Getpid()))
	other := filepath.Join(temp, "go-redlock-master-x")
	for _, dir := range []string{left, used, other} {
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	runVictim(t, testcluster.Processes, temp)
	require.NoDirExists(t, left)
	require.DirExists(t, used)
	require.DirExists(t, other)
}
