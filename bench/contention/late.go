package contention

import "time"

// latePause is between two looks: often enough to meet every stall that matters.
const latePause = 5 * time.Millisecond

// watchLateness measures how much too late a bare timer wakes, at worst: what no lock
// can do better than on this machine in this moment. The function returned ends it.
func watchLateness() func() time.Duration {
	stop, worst := make(chan struct{}), make(chan time.Duration)
	go func() { // waited for by the function returned
		var most time.Duration
		for {
			due := time.Now().Add(latePause)
			select {
			case <-stop:
				worst <- most
				return
			case <-time.After(latePause):
				most = max(most, time.Since(due))
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-worst
	}
}
