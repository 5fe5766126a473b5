package testcluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// fake is a test whose end can be looked at.
type fake struct {
	t        *testing.T
	outcome  string // "" while it runs
	cleanups []func()
}

func (f *fake) Helper()             {}
func (f *fake) Name() string        { return f.t.Name() }
func (f *fake) Cleanup(c func())    { f.cleanups = append(f.cleanups, c) }
func (f *fake) Logf(string, ...any) {}

func (f *fake) Fatalf(format string, args ...any) { f.end("fatal: "+format, args) }
func (f *fake) Skipf(format string, args ...any)  { f.end("skip: "+format, args) }

// errEnd unwinds the fake test as the end of a real one does.
var errEnd = errors.New("the test has ended")

func (f *fake) end(format string, args []any) {
	f.outcome = fmt.Sprintf(format, args...)
	panic(errEnd)
}

// run runs body with the environment given and returns how the test in it ended.
func (f *fake) run(body func(tb testcluster.TB)) (outcome string) {
	defer func() {
		if r := recover(); r != nil {
			err, _ := r.(error)
			if !errors.Is(err, errEnd) {
				panic(r)
			}
		}
		for _, c := range f.cleanups {
			c()
		}
		outcome = f.outcome
	}()
	body(f)
	return
}

func setenv(t *testing.T, cluster, require, addrs string) {
	t.Setenv("CLUSTER", cluster)
	t.Setenv("REDLOCK_REQUIRE", require)
	t.Setenv("REDLOCK_ADDRS", addrs)
}

func TestForTestUsesTheBackendThatIsForcedAndEndsItWithTheTest(t *testing.T) {
	setenv(t, "embedded", "", "")
	var addr string
	outcome := (&fake{t: t}).run(func(tb testcluster.TB) {
		c := testcluster.ForTest(tb, 2)
		require.Equal(t, testcluster.Embedded, c.Backend)
		addr = c.Nodes[1].Addr()
		require.Equal(t, "+PONG", dial(t, addr).ask("PING"))
		testcluster.Need(tb, c, testcluster.Stop)
	})
	require.Empty(t, outcome)
	refused(t, addr)
}

func TestForTestFailsWhereTheForcedBackendIsNotToBeHad(t *testing.T) {
	setenv(t, "no-such", "", "")
	outcome := (&fake{t: t}).run(func(tb testcluster.TB) { testcluster.ForTest(tb, 1) })
	require.Contains(t, outcome, `fatal: testcluster: no back end "no-such"`)
}

func TestWhatABackendLacksIsASkipAndWhereRealMastersAreRequiredAFailure(t *testing.T) {
	bodies := map[string]func(tb testcluster.TB){
		"cannot make the fault": func(tb testcluster.TB) {
			testcluster.Need(tb, testcluster.ForTest(tb, 1), testcluster.Config)
		},
		"take no arguments": func(tb testcluster.TB) {
			testcluster.ForTest(tb, 1, testcluster.ServerArgs("--maxclients", "9"))
		},
	}
	for said, body := range bodies {
		setenv(t, "embedded", "", "")
		outcome := (&fake{t: t}).run(body)
		require.True(t, strings.HasPrefix(outcome, "skip: "), outcome)
		require.Contains(t, outcome, said)

		setenv(t, "embedded", "embedded", "")
		outcome = (&fake{t: t}).run(body)
		require.True(t, strings.HasPrefix(outcome, "fatal: "), outcome)
		require.Contains(t, outcome, said)
	}
}

func TestAnotherBackendThanTheRequiredOneIsAFailure(t *testing.T) {
	setenv(t, "embedded", "containers", "")
	outcome := (&fake{t: t}).run(func(tb testcluster.TB) { testcluster.ForTest(tb, 1) })
	require.Contains(t, outcome, "fatal: testcluster: containers are required, embedded would be used")
}

func TestGivenAddressesAreUsedAndLeftAlone(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	theirs, err := testcluster.Start(ctx, testcluster.Embedded, 2)
	require.NoError(t, err)
	defer func() { require.NoError(t, theirs.Close()) }()
	setenv(t, "", "", theirs.Nodes[0].Direct()+", "+theirs.Nodes[1].Direct())
	outcome := (&fake{t: t}).run(func(tb testcluster.TB) {
		c := testcluster.ForTest(tb, 2)
		require.Equal(t, testcluster.Addresses, c.Backend)
		n := c.Nodes[0]
		require.Equal(t, theirs.Nodes[0].Direct(), n.Direct())
		require.Equal(t, "+OK", dial(t, n.Addr()).ask("SET", "k", "v"))
		n.Proxy().DropNextReply()
		w := dial(t, n.Addr())
		w.send("GET", "k")
		w.ended()
		for _, fault := range []error{n.Kill(ctx), n.Stop(ctx), n.Partition(ctx)} {
			require.ErrorIs(t, fault, errors.ErrUnsupported)
		}
		testcluster.Need(tb, c, testcluster.Config)
		testcluster.Need(tb, c, testcluster.KillEmpty)
	})
	require.Contains(t, outcome, `skip: testcluster: addresses cannot make the fault "kill-empty"`)
	require.Equal(t, "v", dial(t, theirs.Nodes[0].Direct()).ask("GET", "k"), "Close ended or emptied a master of somebody else")

	_, err = testcluster.Start(ctx, testcluster.Addresses, 3)
	require.ErrorContains(t, err, "names 2 masters, 3 are wanted")
}

func TestTheBestBackendIsContainersWhereTheyAreThere(t *testing.T) {
	setenv(t, "", "", "")
	want := testcluster.Embedded
	for _, b := range []testcluster.Backend{testcluster.Processes, testcluster.Containers} {
		if testcluster.Present(t.Context(), b) == nil {
			want = b
		}
	}
	outcome := (&fake{t: t}).run(func(tb testcluster.TB) {
		require.Equal(t, want, testcluster.ForTest(tb, 1).Backend)
	})
	require.Empty(t, outcome)
}

func TestGoroutinesLeavesOutThoseOfProxiesAndMasters(t *testing.T) {
	before := testcluster.Goroutines()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := testcluster.Start(ctx, testcluster.Embedded, 3)
	require.NoError(t, err)
	for _, n := range c.Nodes {
		require.Equal(t, "+PONG", dial(t, n.Addr()).ask("PING"))
	}
	eventually(t, func() bool { return testcluster.Goroutines() <= before }, "goroutines of the cluster are counted")
	const many = 100 // of those of the tests before, which may end meanwhile, there are fewer
	release := make(chan struct{})
	for range many {
		go func() { <-release }()
	}
	eventually(t, func() bool { return testcluster.Goroutines() > before+many/2 }, "goroutines of the test are not counted")
	close(release)
	require.NoError(t, c.Close())
}

func TestScriptsRunFromTheWorkTreeOnly(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	_, err = testcluster.RunScript(t.Context(), "no-such.sh")
	require.ErrorContains(t, err, "scripts/no-such.sh")
	t.Chdir(os.TempDir())
	_, err = testcluster.RunScript(t.Context(), "redis-server.sh")
	require.ErrorContains(t, err, "not inside the project's work tree")
	t.Chdir(here)
}
