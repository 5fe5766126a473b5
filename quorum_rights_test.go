package quorum_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/testcluster"
)

// rightsVariable names a file of docs/acl: clients of all tests have the rights that it gives and no more, but for the tests' own looks
// at the masters. Where it is not set they may do everything.
const rightsVariable = "REDLOCK_RIGHTS"

const (
	lockingRights = "locking.acl"
	lookingUser   = "look" // and its password
)

// ruleOf is what a file of docs/acl says of its user, for keys with the prefix.
func ruleOf(t require.TestingT, file, prefix string) (user string, rule []string) {
	text, err := os.ReadFile(filepath.Join("docs", "acl", file))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "\n"), "an ACL file knows no comments")
	words := strings.Fields(strings.NewReplacer("PREFIX", prefix, "CHANGE-ME", rightPassword).Replace(string(text)))
	require.Equal(t, "user", words[0])
	return words[1], words[2:]
}

// withRights has masters give their clients the rights that are asked for. Some tests fence, and one names its clients.
func withRights(t require.TestingT) (opts []testcluster.StartOption) {
	if file := os.Getenv(rightsVariable); file != "" {
		_, rule := ruleOf(t, file, "")
		opts = append(opts, testcluster.ServerArgs("--user", "default"), testcluster.ServerArgs(append(rule, "+time", "+client|setname", "nopass")...),
			testcluster.ServerArgs("--user", lookingUser, "on", "nopass", "allkeys", "allchannels", "allcommands"))
	}
	return opts
}

// needQueues skips the test, which is of queues, where nobody has the rights for them.
func needQueues(t *testing.T) {
	t.Helper()
	if os.Getenv(rightsVariable) == lockingRights {
		t.Skip("there are no rights for queues")
	}
}
