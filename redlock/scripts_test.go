package redlock

import (
	"crypto/sha1"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// scriptParts are the library's scripts, by the files they are made of.
var scriptParts = map[string][]string{
	"acquire": {"acquire", "number"},
	"resume":  {"resume", "number"},
	"raise":   {"raise"},
	"extend":  {"extend"},
	"repair":  {"repair"},
	"release": {"release", "each"},
	"leave":   {"leave", "each"},
	"restore": {"restore", "each"},
	"inspect": {"inspect"},
}

// scriptSources are the scripts as they are sent, by name.
var scriptSources = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for name, parts := range scriptParts {
		var source strings.Builder
		for _, part := range parts {
			text, err := os.ReadFile(filepath.Join("../internal/node/lua", part+".lua"))
			if err != nil {
				panic(err)
			}
			source.Write(text)
		}
		all[name] = source.String()
	}
	return all
})

// scriptNames finds a script's name by its source, and by its hash.
var scriptNames = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for name, source := range scriptSources() {
		sum := sha1.Sum([]byte(source))
		all[source], all[hex.EncodeToString(sum[:])] = name, name
	}
	return all
})

func scriptName(sourceOrHash string) (name string, ok bool) {
	name, ok = scriptNames()[sourceOrHash]
	return name, ok
}

// load makes the master know all scripts, so that none takes a second round trip.
func (m *master) load() {
	for _, source := range scriptSources() {
		if _, err := m.store.Load(source); err != nil {
			panic(err)
		}
	}
}
