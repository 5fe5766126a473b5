package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCountsAreSplitByTheMastersThatWereAnnounced(t *testing.T) {
	t.Parallel()
	out, total := collect(t,
		`{"Action":"output","Package":"m","Test":"TestA","Output":"testcluster: the masters are containers\n"}`,
		`{"Action":"pass","Package":"m","Test":"TestA/sub"}`,
		`{"Action":"pass","Package":"m","Test":"TestA"}`,
		`{"Action":"output","Package":"m","Output":"ok  \tm\t0.1s\n"}`,
		`{"Action":"pass","Package":"m","Elapsed":0.1}`,
		`{"Action":"pass","Package":"m/core","Test":"TestB"}`,
		`{"Action":"pass","Package":"m/core"}`,
	)
	if total != (counts{passed: 3}) {
		t.Fatalf("total %v", total)
	}
	wants(t, out, "containers   2 run: 2 passed", "no masters   1 run: 1 passed")
	if !strings.HasSuffix(out, "ok  \tm\t0.1s\n") {
		t.Fatalf("go test's own line is not the last: %q", out)
	}
}

func TestAFailedTestIsPrintedAndAPassedOneIsNot(t *testing.T) {
	t.Parallel()
	out, total := collect(t,
		`{"Action":"output","Package":"m","Test":"TestA","Output":"quiet\n"}`,
		`{"Action":"pass","Package":"m","Test":"TestA"}`,
		`{"Action":"output","Package":"m","Test":"TestB","Output":"loud\n"}`,
		`{"Action":"fail","Package":"m","Test":"TestB"}`,
		`{"Action":"output","Package":"m","Output":"panic in TestMain\n"}`,
		`{"Action":"fail","Package":"m"}`,
	)
	if total != (counts{passed: 1, failed: 1}) {
		t.Fatalf("total %v", total)
	}
	wants(t, out, "loud", "panic in TestMain")
	if strings.Contains(out, "quiet") {
		t.Fatalf("a passed test was printed: %q", out)
	}
}

func TestASkipIsListedWithItsReason(t *testing.T) {
	t.Parallel()
	out, total := collect(t,
		`{"Action":"output","Package":"m","Test":"TestA","Output":"    a_test.go:7: embedded masters keep nothing\n"}`,
		`{"Action":"skip","Package":"m","Test":"TestA"}`,
	)
	if total != (counts{skipped: 1}) {
		t.Fatalf("total %v", total)
	}
	wants(t, out, "skipped: m a_test.go:7: embedded masters keep nothing")
}

func TestJudgeObjects(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name           string
		total          counts
		broken, strict bool
		bad            bool
	}{
		{"all passed", counts{passed: 1}, false, true, false},
		{"a failure", counts{passed: 1, failed: 1}, false, false, true},
		{"a build that broke", counts{passed: 1}, true, false, true},
		{"nothing ran", counts{skipped: 1}, false, false, true},
		{"a skip", counts{passed: 1, skipped: 1}, false, false, false},
		{"a skip where none may be", counts{passed: 1, skipped: 1}, false, true, true},
	}
	for _, r := range rows {
		if err := judge(r.total, r.broken, r.strict); (err != nil) != r.bad {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

func TestRunsOfARealModuleAreCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "go.mod", "module m\n\ngo 1.26\n")
	write(t, dir, "a_test.go", "package m\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n")
	var out bytes.Buffer
	if err := run([]string{"-runs", "2", "-strict", "-C", dir, "--", "-count=1", "."}, &out); err != nil {
		t.Fatal(err, out.String())
	}
	wants(t, out.String(), "run 2 of 2: 1 run: 1 passed", "all 2 runs: 2 run: 2 passed, 0 failed, 0 skipped")

	write(t, dir, "a.go", "package m\n\nfunc broken() { undefined() }\n")
	out.Reset()
	if err := run([]string{"-C", dir, "--", "."}, &out); err == nil {
		t.Fatal("a broken build passed")
	}
	wants(t, out.String(), "undefined: undefined")
}

func collect(t *testing.T, lines ...string) (string, counts) {
	t.Helper()
	var out bytes.Buffer
	c := newCollector(&out)
	if err := c.read(strings.NewReader(strings.Join(lines, "\n") + "\n")); err != nil {
		t.Fatal(err)
	}
	c.report()
	return out.String(), c.total()
}

func wants(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			t.Errorf("%q is missing in:\n%s", p, out)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
