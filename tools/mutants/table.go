package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// table is where the mutants are, below the root of the repository.
const table = "tools/mutants/table"

// mutant is one seeded bug.
type mutant struct {
	catcher
	number string
	name   string // of its file
	file   string
	bug    string // one sentence
}

// catcher is a test, or a subtest, of one package.
type catcher struct{ pkg, test string }

func (c catcher) String() string { return c.pkg + " " + c.test }

// top is the test of which it is a subtest, or itself.
func (c catcher) top() string {
	name, _, _ := strings.Cut(c.test, "/")
	return name
}

// pattern is what go test -run needs to run just this one.
func (c catcher) pattern() string {
	parts := strings.Split(c.test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

var (
	fileName    = regexp.MustCompile(`^(\d\d)-[a-z0-9]+(?:-[a-z0-9]+)*\.patch$`)
	catcherLine = regexp.MustCompile(`^(\.(?:/\S+)?) (Test\w*(?:/\S+)*)$`)
	sentence    = regexp.MustCompile(`^[A-Z].*\.$`)
)

// readTable returns the mutants by their numbers. A file that is no mutant is an error: by a slip in its name one would be
// missing without a word.
func readTable(root string) ([]mutant, error) {
	files, err := os.ReadDir(filepath.Join(root, table))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("there is no mutant in " + table)
	}
	var all []mutant
	for _, f := range files { // which are sorted
		m, err := readMutant(filepath.Join(root, table, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		if n := len(all); n > 0 && all[n-1].number == m.number {
			return nil, fmt.Errorf("%s: %s has the same number", f.Name(), all[n-1].name)
		}
		all = append(all, m)
	}
	return all, nil
}

func readMutant(file string) (mutant, error) {
	name := fileName.FindStringSubmatch(filepath.Base(file))
	if name == nil {
		return mutant{}, errors.New("not the name of a mutant, NN-name.patch")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return mutant{}, err
	}
	m := mutant{number: name[1], name: strings.TrimSuffix(name[0], ".patch"), file: file}
	return m, m.readHeader(string(text))
}

// readHeader reads what stands in front of the diff.
func (m *mutant) readHeader(text string) error {
	header, _, found := strings.Cut(text, "\n--- ")
	if !found {
		return errors.New("no diff")
	}
	for line := range strings.Lines(header) {
		what, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case what == "Bug" && m.bug == "" && sentence.MatchString(rest):
			m.bug = rest
		case what == "Test" && m.test == "" && catcherLine.MatchString(rest):
			m.pkg, m.test, _ = strings.Cut(rest, " ")
		default:
			return fmt.Errorf("not a line of a header: %q", line)
		}
	}
	if m.bug == "" || m.test == "" {
		return errors.New("the header does not say which bug it is and which test catches it")
	}
	return nil
}

// byPackage returns the tests that are to catch the mutants, each once, those of a package together.
func byPackage(mutants []mutant) (groups [][]catcher) {
	for _, m := range mutants {
		i := slices.IndexFunc(groups, func(g []catcher) bool { return g[0].pkg == m.pkg })
		switch {
		case i < 0:
			groups = append(groups, []catcher{m.catcher})
		case !slices.Contains(groups[i], m.catcher):
			groups[i] = append(groups[i], m.catcher)
		}
	}
	return groups
}

// anyOf is what go test -run needs to run all of these, with all of their subtests.
func anyOf(group []catcher) string {
	var names []string
	for _, c := range group {
		names = append(names, regexp.QuoteMeta(c.top()))
	}
	slices.Sort(names)
	return "^(" + strings.Join(slices.Compact(names), "|") + ")$"
}
