//go:build !race

package sim

// raceDetector tells that this binary takes many times the time it needs.
const raceDetector = false
