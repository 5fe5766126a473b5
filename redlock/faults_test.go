package redlock

import "time"

// set changes how requests travel from now on; those under way are not changed.
func (m *master) set(w way) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.way = w
}

// stop is what SIGSTOP does: requests are buffered by the kernel, and nothing is answered.
func (m *master) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
}

// resume lets the master run, and serve what it finds first.
func (m *master) resume() {
	m.mu.Lock()
	found := m.backlog
	m.stopped, m.backlog = false, nil
	m.mu.Unlock()
	for _, arrive := range found {
		arrive()
	}
}

// hold gives the key to somebody else.
func (m *master) hold(key string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys[key] = entry{value: foreign, expires: time.Now().Add(d)}
}

// forget is a restart without data.
func (m *master) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.keys)
	m.scripts = false
}

// foreign is somebody else's token.
const foreign = "foreign"

// values is what the keys that have not expired hold.
func (m *master) values() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[string]string)
	for k, e := range m.keys {
		if time.Now().Before(e.expires) {
			all[k] = e.value
		}
	}
	return all
}

// expiry is when the key ends here, or the zero time.
func (m *master) expiry(key string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keys[key].expires
}

// requests is what was sent here so far, of one name or (with "") of all.
func (m *master) requests(name string) []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	var some []request
	for _, r := range m.log {
		if name == "" || r.name == name {
			some = append(some, r)
		}
	}
	return some
}
