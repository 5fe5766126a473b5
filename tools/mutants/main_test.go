package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The module that the tests run mutants of.
const (
	source = `package m

import (
	_ "embed"
	"os"
	"time"
)

//go:embed word.txt
var word string

const (
	dies  = false
	pause = 0 * time.Second
)

func Size(n int) int {
	if dies {
		os.Exit(3)
	}
	time.Sleep(pause)
	return n/2 + 1
}
`
	words = "majority\n"
	tests = `package m

import "testing"

func TestSize(t *testing.T) {
	t.Run("of five", func(t *testing.T) {
		if Size(5) != 3 {
			t.Fatal(Size(5))
		}
	})
	if Size(1) != 1 {
		t.Fatal(Size(1))
	}
}

func TestWord(t *testing.T) {
	if word != "majority\n" {
		t.Fatal(word)
	}
}

func TestRed(t *testing.T) { t.Fatal("as always") }

func TestSkipped(t *testing.T) { t.Skip("as always") }
`
)

// change is a patch that changes the module's source in one place.
func change(from, to string) string {
	return diff("a.go", source, strings.Replace(source, from, to, 1))
}

// diff is a patch that takes all lines of a file away and puts others there.
func diff(file, before, after string) string {
	lines := func(sign, text string) string {
		return sign + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+sign) + "\n"
	}
	return fmt.Sprintf("--- a/%s\n+++ b/%s\n@@ -1,%d +1,%d @@\n%s%s", file, file,
		strings.Count(before, "\n"), strings.Count(after, "\n"), lines("-", before), lines("+", after))
}

// patched is the file of a mutant.
func patched(test, diff string) string {
	return "Bug: Something is wrong.\nTest: . " + test + "\n" + diff
}

// module writes the module with a table of these mutants, by the names of their files.
func module(t *testing.T, mutants map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	write(t, root, "go.mod", "module m\n\ngo 1.26\n")
	write(t, root, "a.go", source)
	write(t, root, "word.txt", words)
	write(t, root, "a_test.go", tests)
	if err := os.MkdirAll(filepath.Join(root, table), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range mutants {
		write(t, root, filepath.Join(table, name), text)
	}
	return root
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// called is what the command with these arguments prints, its complaints included, and its exit code.
func called(t *testing.T, root string, args ...string) (out string, code int) {
	t.Helper()
	var b bytes.Buffer
	code = run(t.Context(), runner{root: root, limit: 3 * time.Second, out: &b}, args, &b)
	return b.String(), code
}

func wants(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			t.Errorf("%q is missing in:\n%s", p, out)
		}
	}
}

func TestEachWayNotToBeCaughtFailsTheRunAndIsSaid(t *testing.T) {
	t.Parallel()
	root := module(t, map[string]string{
		"01-caught.patch":            patched("TestSize", change("n/2 + 1", "n / 2")),
		"02-caught-in-a-file.patch":  patched("TestWord", diff("word.txt", words, "minority\n")),
		"03-caught-by-a-part.patch":  patched("TestSize/of_five", change("n/2 + 1", "n/2 + n%5 + 1 - 1")),
		"04-survives.patch":          patched("TestWord", change("n/2 + 1", "n / 2")),
		"05-does-not-compile.patch":  patched("TestSize", change("n/2 + 1", "n/2 + one")),
		"06-does-not-apply.patch":    patched("TestSize", diff("a.go", source+"// more\n", source)),
		"07-hangs.patch":             patched("TestSize", change("0 * time.Second", "time.Hour")),
		"08-dies.patch":              patched("TestSize", change("dies  = false", "dies  = true")),
		"09-test-is-not-there.patch": patched("TestNothing", change("n/2 + 1", "n / 2")),
		"10-test-is-skipped.patch":   patched("TestSkipped", change("n/2 + 1", "n / 2")),
		"11-test-is-red.patch":       patched("TestRed", change("n/2 + 1", "n / 2")),
		"12-changes-a-test.patch":    patched("TestSize", diff("a_test.go", tests, strings.Replace(tests, "!= 3", "!= 2", 1))),
		"13-no-such-file.patch":      patched("TestSize", diff("b.go", source, source+"// more\n")),
		"14-no-change.patch":         patched("TestSize", diff("a.go", source, source)),
		"15-elsewhere.patch":         patched("TestSize", diff("../a.go", source, source+"// more\n")),
	})
	out, code := called(t, root)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	wants(t, out,
		"base line: . TestNothing did not run", "base line: . TestSkipped was skipped", "base line: . TestRed failed",
		"01  Something is wrong. . TestSize, ", "02  Something is wrong. . TestWord, ", "03  Something is wrong. . TestSize/of_five, ",
		"04  Something is wrong. NOT CAUGHT: the test passed, . TestWord, ",
		"05  Something is wrong. NOT CAUGHT: the test was not built", "undefined: one",
		"06  Something is wrong. NOT CAUGHT: the patch does not apply",
		"07  Something is wrong. NOT CAUGHT: the test ran out of time",
		"08  Something is wrong. NOT CAUGHT: the test did not end",
		"09  Something is wrong. NOT CAUGHT: without the bug the test did not run",
		"10  Something is wrong. NOT CAUGHT: without the bug the test was skipped",
		"11  Something is wrong. NOT CAUGHT: without the bug the test failed",
		"12  Something is wrong. NOT CAUGHT: the patch changes a_test.go",
		"13  Something is wrong. NOT CAUGHT: the patch does not apply: open ",
		"14  Something is wrong. NOT CAUGHT: the patch leaves a.go as it is",
		"15  Something is wrong. NOT CAUGHT: the patch ",
		"\n15 mutants, 3 caught\n",
	)
	if now, err := os.ReadFile(filepath.Join(root, "a.go")); err != nil || string(now) != source {
		t.Errorf("the sources were touched: %v\n%s", err, now)
	}

	const said = "a_test.go:8: 2"
	if strings.Contains(out, said) {
		t.Errorf("it was caught, and what was said is of no interest:\n%s", out)
	}
	out, code = called(t, root, "-run", "^0[12]-", "-v")
	if code != 0 || !strings.HasSuffix(out, "\n2 mutants, 2 caught\n") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	wants(t, out, said)
}

func TestTestsThatDoNotCompileCatchNothing(t *testing.T) {
	t.Parallel()
	root := module(t, map[string]string{"01-one.patch": patched("TestSize", change("n/2 + 1", "n / 2"))})
	write(t, root, "b_test.go", "package m\n\nvar _ = undefined\n")
	out, code := called(t, root)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	wants(t, out, "undefined: undefined", "NOT CAUGHT: without the bug the test was not built", "\n1 mutants, 0 caught\n")
}

// interrupting is an output that has the run interrupted once the base line is known.
type interrupting struct {
	bytes.Buffer
	interrupt func()
}

func (w *interrupting) Write(text []byte) (int, error) {
	w.interrupt()
	return w.Buffer.Write(text)
}

func TestAnInterruptedRunEndsWithoutAVerdict(t *testing.T) {
	t.Parallel()
	root := module(t, map[string]string{"01-one.patch": patched("TestSize", change("0 * time.Second", "time.Hour"))})
	ctx, interrupt := context.WithCancel(t.Context())
	out := &interrupting{interrupt: interrupt}
	var complaints bytes.Buffer
	if code := run(ctx, runner{root: root, limit: time.Minute, out: out}, nil, &complaints); code != 1 {
		t.Errorf("exit code %d", code)
	}
	wants(t, complaints.String(), "context canceled")
	if strings.Contains(strings.ToLower(out.String()), "caught") {
		t.Errorf("a verdict:\n%s", out.String())
	}
}

func TestWrongCallsAreToldTheUsage(t *testing.T) {
	t.Parallel()
	root := module(t, map[string]string{"01-one.patch": patched("TestSize", change("n/2 + 1", "n / 2"))})
	for why, args := range map[string][]string{
		"flag provided but not defined: -fast": {"-fast"},
		"error parsing regexp":                 {"-run", "("},
		"no arguments are taken":               {"01"},
		"no mutant's name matches two":         {"-run", "two"},
	} {
		out, code := called(t, root, args...)
		if code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
		wants(t, out, why, "Usage of mutants:")
	}
}
