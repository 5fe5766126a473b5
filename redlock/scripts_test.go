package redlock

import "github.com/quorumlock/go-redlock/internal/node"

// scriptNames finds a script's name by its source, and by its hash.
var scriptNames = node.ScriptNames()

func scriptName(sourceOrHash string) (name string, ok bool) {
	name, ok = scriptNames[sourceOrHash]
	return name, ok
}

// load makes the master know all scripts, so that none takes a second round trip.
func (m *master) load() {
	for _, source := range node.Scripts() {
		if _, err := m.store.Load(source); err != nil {
			panic(err)
		}
	}
}
