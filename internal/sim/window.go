package sim

import (
	"slices"
	"time"
)

// window is a stretch of true time, from inclusive and to exclusive.
type window struct{ from, to time.Duration }

func (w window) holds(t time.Duration) bool { return w.from <= t && t < w.to }

// windows are in their order, and no two of them touch.
type windows []window

// at returns the window that holds t.
func (ws windows) at(t time.Duration) (window, bool) {
	for _, w := range ws {
		if w.holds(t) {
			return w, true
		}
	}
	return window{}, false
}

// begin returns the first that begins after one time and not after another.
func (ws windows) begin(after, until time.Duration) (window, bool) {
	for _, w := range ws {
		if after < w.from && w.from <= until {
			return w, true
		}
	}
	return window{}, false
}

// covered is how much of a stretch is inside the windows.
func (ws windows) covered(from, to time.Duration) (sum time.Duration) {
	for _, w := range ws {
		sum += max(0, min(w.to, to)-max(w.from, from))
	}
	return sum
}

// draw makes at most so many windows of a length, all of them before the horizon.
func draw(d *dice, most int, low, high, horizon time.Duration) windows {
	var ws windows
	for range d.below(most + 1) {
		from := d.between(0, horizon)
		w := window{from, min(from+d.between(low, high), horizon)}
		apart := func(o window) bool { return w.to+time.Millisecond < o.from || o.to+time.Millisecond < w.from }
		if w.from < w.to && !slices.ContainsFunc(ws, func(o window) bool { return !apart(o) }) {
			ws = append(ws, w)
		}
	}
	slices.SortFunc(ws, func(a, b window) int { return int(a.from - b.from) })
	return ws
}
