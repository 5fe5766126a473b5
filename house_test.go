package quorum_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const module = "github.com/quorumlock/go-redlock"

// goRedis is the only dependency that reaches a user's binary.
const goRedis = "github.com/redis/go-redis/v9"

// imports is what the packages of the library may import besides the standard library: our own as "./" and the folder,
// others with all that is below them.
var imports = map[string][]string{
	"clock":              {},
	"fence":              {goRedis},
	"internal/quorum":    {},
	"internal/node":      {"./clock", "./internal/quorum", goRedis},
	"internal/seam":      {"./internal/node"},
	"internal/sim":       {"./clock", "./fence", "./internal/node", "./internal/quorum", "./internal/seam", "./internal/sim/store", "./redlock", goRedis},
	"internal/sim/store": {"github.com/yuin/gopher-lua"},
	"redlock":            {"./clock", "./internal/node", "./internal/quorum", "./internal/seam", goRedis},
}

// impure is what the core may not import of the standard library: it decides, and leaves acting to others.
var impure = []string{"context", "sync", "net", "os", "log", "math/rand", "crypto/rand", "runtime", "syscall", "testing"}

// pureTime is what the core may use of package time: a length, or a reading that it is given; it takes none.
var pureTime = []string{"Time", "Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}

// shipped is what users build; foreign is what must not reach it, in any number of steps, engines the part of it that one
// package alone may import.
var (
	shipped = []string{"redlock", "clock", "fence", "cmd"}
	engines = []string{"github.com/testcontainers", "github.com/docker", "github.com/moby"}
	foreign = slices.Concat(engines, []string{"github.com/stretchr/testify", "testing"})
)

const containersOnly = "internal/testcluster/containers"

func TestTheSourcesKeepTheImportTable(t *testing.T) {
	t.Parallel()
	h, err := readHouse(os.DirFS("."))
	require.NoError(t, err)
	for pkg := range imports {
		require.NotEmpty(t, h[pkg].sources, "package %s is in the table and not in the house", pkg)
	}
	require.Empty(t, h.complaints())
}

func TestTheTableObjectsToWhatItForbids(t *testing.T) {
	t.Parallel()
	const doc = "// Package p is a package.\n"
	tests := []struct{ name, file, source, complaint string }{
		{"our own package in the core", "internal/quorum/a.go", doc + `package p; import _ "` + module + `/clock"`, "imports ./clock"},
		{"a dependency in the core", "internal/quorum/a.go", doc + `package p; import _ "golang.org/x/sync/errgroup"`, "imports golang.org/x/sync/errgroup"},
		{"a lock in the core", "internal/quorum/a.go", doc + `package p; import _ "sync/atomic"`, "imports sync/atomic"},
		{"a random source in the core", "internal/quorum/a.go", doc + `package p; import _ "math/rand/v2"`, "imports math/rand/v2"},
		{"a clock read in the core", "internal/quorum/a.go", doc + `package p; import "time"; var x = time.Now()`, "uses time.Now"},
		{"a clock read under another name", "internal/quorum/a.go", doc + `package p; import w "time"; var x = w.Now()`, "uses time.Now"},
		{"package time without its name", "internal/quorum/a.go", doc + `package p; import . "time"; var x = Now()`, "imports time as ."},
		{"an x/sync in the public package", "redlock/a.go", doc + `package p; import _ "golang.org/x/sync/errgroup"`, "imports golang.org/x/sync/errgroup"},
		{"the test masters in the public package", "redlock/a.go", doc + `package p; import _ "` + module + `/internal/testcluster"`, "imports ./internal/testcluster"},
		{"a test library on a path of three", "cmd/x/a.go", doc + `package p; import _ "` + module + `/internal/mid"`, "reaches github.com/stretchr/testify"},
		{"containers outside their package", "internal/sim/a_test.go", `package p; import _ "github.com/testcontainers/testcontainers-go"`, "imports github.com/testcontainers"},
		{"a Docker client outside their package", "internal/sim/a_test.go", `package p; import _ "github.com/moby/moby/client"`, "imports github.com/moby"},
		{"the containers' package outside of tests", "internal/sim/a.go", doc + `package p; import _ "` + module + `/` + containersOnly + `"`, "imports ./" + containersOnly},
		{"a package without a comment", "fence/a.go", "package p", "0 package comments"},
		{"a package in the root", "a.go", doc + "package redlock", "package redlock in the root"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, err := readHouse(fstest.MapFS{
				tt.file: {Data: []byte(tt.source)},
				// Two more steps for who asks for them: mid, end, testify.
				"internal/mid/a.go":       {Data: []byte(doc + `package p; import _ "` + module + `/internal/end"`)},
				"internal/end/a.go":       {Data: []byte(doc + `package p; import _ "github.com/stretchr/testify/require"`)},
				"internal/end/a_test.go":  {Data: []byte("// Package p does not count here.\npackage p")},
				"bench/go.mod":            {Data: []byte("module other")},
				"bench/a.go":              {Data: []byte("package another module's, and not even Go")},
				"redlock/testdata/bad.go": {Data: []byte("not Go either")},
			})
			require.NoError(t, err)
			require.Len(t, h.complaints(), 1)
			require.Contains(t, h.complaints()[0], tt.complaint)
		})
	}
}

func TestTheTableObjectsToTwoPackageComments(t *testing.T) {
	t.Parallel()
	const source = "// Package p is a package.\npackage p"
	h, err := readHouse(fstest.MapFS{"clock/a.go": {Data: []byte(source)}, "clock/b.go": {Data: []byte(source)}})
	require.NoError(t, err)
	require.Equal(t, []string{"clock: 2 package comments"}, h.complaints())
}

func TestAnEmptyHouseIsAnError(t *testing.T) {
	t.Parallel()
	_, err := readHouse(fstest.MapFS{"README.md": {}})
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// house is the module's packages by folder.
type house map[string]room

// room is the parsed files of one folder.
type room struct{ sources, tests []*ast.File }

// readHouse parses every Go file of the module whatever its build constraints: a rule holds on all platforms.
func readHouse(root fs.FS) (house, error) {
	h := house{}
	fset := token.NewFileSet()
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(root, name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		r := h[path.Dir(name)]
		if strings.HasSuffix(name, "_test.go") {
			r.tests = append(r.tests, file)
		} else {
			r.sources = append(r.sources, file)
		}
		h[path.Dir(name)] = r
		return nil
	})
	if err == nil && len(h) == 0 {
		err = fs.ErrNotExist
	}
	return h, err
}

// enter returns fs.SkipDir for folders that hold none of the module's packages.
func enter(root fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// complaints returns one line for each breach, sorted.
func (h house) complaints() []string {
	var all []string
	for dir, r := range h {
		say := func(what string) { all = append(all, dir+": "+what) }
		r.checkPlace(dir, say)
		r.checkTable(dir, say)
		if dir == "internal/quorum" {
			r.checkTime(say)
		}
		if slices.ContainsFunc(shipped, func(p string) bool { return under(dir, p) }) {
			h.checkReach(dir, say)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// checkPlace holds what concerns every package: its comment, the root, and who may start containers.
func (r room) checkPlace(dir string, say func(string)) {
	comments := 0
	for _, f := range r.sources {
		if f.Doc != nil {
			comments++
		}
	}
	if len(r.sources) > 0 && comments != 1 {
		say(strconv.Itoa(comments) + " package comments")
	}
	for _, f := range slices.Concat(r.sources, r.tests) {
		if dir == "." && f.Name.Name != "quorum_test" {
			say("package " + f.Name.Name + " in the root")
		}
		for _, imported := range paths(f) {
			of := func(p string) bool { return under(imported, p) }
			if slices.ContainsFunc(engines, of) && dir != containersOnly {
				say("imports " + imported)
			}
		}
	}
	for _, f := range r.sources {
		if slices.Contains(paths(f), "./"+containersOnly) {
			say("imports ./" + containersOnly)
		}
	}
}

func (r room) checkTable(dir string, say func(string)) {
	allowed, ok := imports[dir]
	if !ok {
		return
	}
	for _, f := range r.sources {
		for _, imported := range paths(f) {
			covers := func(p string) bool { return under(imported, p) }
			switch {
			case standard(imported) && (dir != "internal/quorum" || !slices.ContainsFunc(impure, covers)):
			case slices.ContainsFunc(allowed, covers):
			default:
				say("imports " + imported)
			}
		}
	}
}

func (r room) checkTime(say func(string)) {
	for _, f := range r.sources {
		name := timeName(f)
		if name == "." {
			// Its names could not be told from our own.
			say("imports time as .")
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == name && !slices.Contains(pureTime, s.Sel.Name) {
					say("uses time." + s.Sel.Name)
				}
			}
			return true
		})
	}
}

// timeName returns what a file calls package time, "" where it does not import it.
func timeName(f *ast.File) string {
	for _, spec := range f.Imports {
		switch {
		case spec.Path.Value != `"time"`:
		case spec.Name != nil:
			return spec.Name.Name
		default:
			return "time"
		}
	}
	return ""
}

// checkReach follows the sources' imports from dir through our own packages.
func (h house) checkReach(dir string, say func(string)) {
	seen := map[string]bool{dir: true}
	for todo := []string{dir}; len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]
		for _, f := range h[at].sources {
			for _, imported := range paths(f) {
				if slices.ContainsFunc(foreign, func(p string) bool { return under(imported, p) }) {
					say("reaches " + imported + " through " + at)
				}
				if next, ours := strings.CutPrefix(imported, "./"); ours && !seen[next] {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
	}
}

// paths returns what a file imports, our own packages as "./" and their folder.
func paths(f *ast.File) []string {
	all := make([]string, 0, len(f.Imports))
	for _, spec := range f.Imports {
		imported := strings.Trim(spec.Path.Value, "`\"")
		if dir, ours := strings.CutPrefix(imported, module+"/"); ours {
			imported = "./" + dir
		}
		all = append(all, imported)
	}
	return all
}

// under reports whether p is dir or below it.
func under(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// standard reports whether p is of the standard library: only there the first element has no dot.
func standard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}
