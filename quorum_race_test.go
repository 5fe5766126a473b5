//go:build race

package quorum_test

// raceDetector tells that this binary takes many times the time it needs.
const raceDetector = true
