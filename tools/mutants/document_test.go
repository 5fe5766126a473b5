package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/mutants.md anew")

// document is the table for who reads it.
func document(mutants []mutant) string {
	var b strings.Builder
	b.WriteString(`# Seeded bugs

Each line is a bug that somebody could make, as a patch in [tools/mutants/table](../tools/mutants/table), and the test that fails by it. ` + "`make mutants`" + ` puts
one after the other into the sources, and requires that its test passes without it and fails with it, by itself and within a minute.

| | bug | caught by |
|---|---|---|
`)
	for _, m := range mutants {
		fmt.Fprintf(&b, "| %s | %s | `%s` in `%s` |\n", m.number, m.bug, m.test, m.pkg)
	}
	return b.String()
}

func TestTheDocumentIsThatOfTheTable(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	mutants, err := readTable(root)
	if err != nil {
		t.Fatal(err)
	}
	file, want := filepath.Join(root, "docs", "mutants.md"), document(mutants)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/mutants.md is not that of the table: go -C tools test ./mutants -update writes it")
	}
}
