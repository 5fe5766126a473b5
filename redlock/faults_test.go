package redlock

import "time"

// set changes how requests travel from now on; those under way are not changed.
func (m *master) set(w way) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.way = w
	m.downstream.Store(&w)
	if w.down != nil {
		m.hangUp()
	}
	m.tellChange()
}

// stop is what SIGSTOP does: requests are buffered by the kernel, and nothing is answered.
func (m *master) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	m.tellChange()
}

// resume lets the master run, and serve what it finds first.
func (m *master) resume() {
	m.mu.Lock()
	found := m.backlog
	m.stopped, m.backlog = false, nil
	m.tellChange()
	m.mu.Unlock()
	for _, arrive := range found {
		arrive()
	}
}

// hold gives the key to somebody else.
func (m *master) hold(key string, d time.Duration) {
	m.put("set", key, foreign, "px", max(d.Milliseconds(), 1))
}

// put runs a command that does not come over the network.
func (m *master) put(args ...any) any {
	val, err := m.store.Do(time.Now(), args)
	if err != nil {
		panic(err)
	}
	return val
}

// forget is a restart without data.
func (m *master) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store.Forget()
	m.hangUp()
}

// foreign is somebody else's token.
const foreign = "foreign"

// values is what the keys that have not expired hold.
func (m *master) values() map[string]string { return m.store.Values(time.Now()) }

// lists are the queues that are here.
func (m *master) lists() []string { return m.store.Lists(time.Now()) }

// expiry is when the key ends here, or the zero time.
func (m *master) expiry(key string) time.Time { return m.store.End(key) }

// requests is what was sent here so far, of one name, a command's or a script's, or (with "") of all.
func (m *master) requests(name string) []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	var some []request
	for _, r := range m.log {
		if name == "" || r.name == name || r.script == name {
			some = append(some, r)
		}
	}
	return some
}

// breakStreams breaks the connections of all subscriptions.
func (m *master) breakStreams() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hangUp()
}

// subscriptions is how often somebody subscribed here.
func (m *master) subscriptions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.subscribed
}
