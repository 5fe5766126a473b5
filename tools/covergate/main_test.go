package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const profile = `mode: atomic
m/a/x.go:1.1,2.2 9 0
m/a/x.go:3.1,4.2 1 0
m/a/x.go:1.1,2.2 9 4
m/b/y.go:1.1,2.2 8 1
m/b/y.go:3.1,4.2 2 0
`

func TestABlockIsCoveredWhenAnyBinaryReachedIt(t *testing.T) {
	t.Parallel()
	out, err := gate(t, "m/a")
	if err != nil || !strings.Contains(out, "90.0 %     10 statements  m/a") {
		t.Fatalf("err %v, output %q", err, out)
	}
}

func TestTooLittleOrNoCoverageFails(t *testing.T) {
	t.Parallel()
	for _, pkg := range []string{"m/b", "m/absent"} {
		if out, err := gate(t, "m/a", pkg); err == nil || !strings.HasSuffix(err.Error(), ": "+pkg) {
			t.Errorf("%s: err %v, output %q", pkg, err, out)
		}
	}
}

func TestAProfileThatIsNoneFails(t *testing.T) {
	t.Parallel()
	if _, err := parse(strings.NewReader("nonsense\n")); err == nil {
		t.Fatal("no error")
	}
}

func gate(t *testing.T, packages ...string) (string, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "cover.out")
	if err := os.WriteFile(name, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run(append([]string{"-min", "90", name}, packages...), &out)
	return out.String(), err
}
