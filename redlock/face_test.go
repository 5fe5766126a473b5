package redlock

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// spoken are methods that package fmt, package log/slog and package errors call: nobody writes them in an example.
var spoken = map[string]bool{
	"String": true, "Format": true, "LogValue": true, "Error": true, "Unwrap": true, "Is": true, "As": true,
}

func TestEveryExportedNameIsInAnExample(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var examples strings.Builder
	exported := make(map[string]bool)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		switch {
		case strings.HasPrefix(name, "example"):
			examples.Write(text)
		case !strings.HasSuffix(name, "_test.go"):
			file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
			require.NoError(t, err)
			for _, d := range file.Decls {
				for _, id := range declared(d) {
					if id.IsExported() && !spoken[id.Name] {
						exported[id.Name] = true
					}
				}
			}
		}
	}
	require.Greater(t, len(exported), 30, "else it looks in the wrong place")
	for name := range exported {
		require.Contains(t, examples.String(), "."+name)
	}
}

// declared is what a declaration names in the package, the methods of unexported types left out.
func declared(d ast.Decl) []*ast.Ident {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			of := d.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if id, ok := of.(*ast.Ident); !ok || !id.IsExported() {
				return nil
			}
		}
		return []*ast.Ident{d.Name}
	case *ast.GenDecl:
		var all []*ast.Ident
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				all = append(all, s.Name)
			case *ast.ValueSpec:
				all = append(all, s.Names...)
			}
		}
		return all
	}
	return nil
}
