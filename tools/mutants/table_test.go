package main

import (
	"slices"
	"strings"
	"testing"
)

func TestATableThatIsNoneFailsTheRun(t *testing.T) {
	t.Parallel()
	good := patched("TestSize", change("n/2 + 1", "n / 2"))
	for name, tt := range map[string]struct {
		files map[string]string
		says  string
	}{
		"nothing":               {nil, "there is no mutant in " + table},
		"another file":          {map[string]string{"01-one.patch": good, "02-two.diff": good}, "02-two.diff: not the name of a mutant"},
		"a name without a word": {map[string]string{"01-.patch": good}, "01-.patch: not the name"},
		"a number twice":        {map[string]string{"01-one.patch": good, "01-two.patch": good}, "01-two.patch: 01-one has the same number"},
		"no diff":               {map[string]string{"01-one.patch": "Bug: It is wrong.\nTest: . TestSize\n"}, "01-one.patch: no diff"},
		"no bug":                {map[string]string{"01-one.patch": strings.Replace(good, "Bug: Something is wrong.\n", "", 1)}, "does not say"},
		"no sentence":           {map[string]string{"01-one.patch": strings.Replace(good, "wrong.", "wrong", 1)}, "not a line of a header"},
		"no test":               {map[string]string{"01-one.patch": strings.Replace(good, "Test: . TestSize\n", "", 1)}, "does not say"},
		"two tests":             {map[string]string{"01-one.patch": strings.Replace(good, "Test: ", "Test: . TestWord\nTest: ", 1)}, "not a line of a header"},
		"a pattern for a test":  {map[string]string{"01-one.patch": strings.Replace(good, "TestSize", "Test.*", 1)}, "not a line of a header"},
		"no package":            {map[string]string{"01-one.patch": strings.Replace(good, ". TestSize", "TestSize", 1)}, "not a line of a header"},
		"something else":        {map[string]string{"01-one.patch": "By: me\n" + good}, "not a line of a header"},
	} {
		out, code := called(t, module(t, tt.files))
		if code != 1 || !strings.Contains(out, tt.says) {
			t.Errorf("%s: exit code %d, not %q:\n%s", name, code, tt.says, out)
		}
	}
	if out, code := called(t, t.TempDir()); code != 1 {
		t.Errorf("no folder: exit code %d:\n%s", code, out)
	}
}

func TestASubtestIsRunByItself(t *testing.T) {
	t.Parallel()
	c := catcher{"./a", "TestA/one_(of_two)/x"}
	if got, want := c.pattern(), `^TestA$/^one_\(of_two\)$/^x$`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if got, want := anyOf([]catcher{{"./a", "TestB"}, c, {"./a", "TestA"}}), "^(TestA|TestB)$"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestTestsAreRunByPackageAndOnce(t *testing.T) {
	t.Parallel()
	a, b, c := catcher{"./a", "TestA"}, catcher{"./a", "TestB"}, catcher{"./c", "TestA"}
	groups := byPackage([]mutant{{catcher: a}, {catcher: c}, {catcher: b}, {catcher: a}})
	want := [][]catcher{{a, b}, {c}}
	if !slices.EqualFunc(groups, want, slices.Equal[[]catcher]) {
		t.Errorf("%v, not %v", groups, want)
	}
}
