package stat

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNoValues says that there is nothing to take a median of.
var ErrNoValues = errors.New("stat: no values")

// Spread is what several rounds say about one figure.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// SpreadOf returns the median, least and most of values, which stay in their order.
// The median of an even number of values is the mean of the middle two.
func SpreadOf(values []float64) (Spread, error) {
	if len(values) == 0 {
		return Spread{}, ErrNoValues
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	mid := len(sorted) / 2
	median := sorted[mid]
	if len(sorted)%2 == 0 {
		median = (sorted[mid-1] + sorted[mid]) / 2
	}
	return Spread{Median: median, Least: sorted[0], Most: sorted[len(sorted)-1]}, nil
}

// Ratios divides the rounds of one figure by the same rounds of another: what
// slowed the machine down in one round slowed both, and cancels out. A round that
// is missing on either side, or a divisor of zero, is an error.
func Ratios(over, under []float64) ([]float64, error) {
	if len(over) != len(under) {
		return nil, fmt.Errorf("stat: %d rounds over %d", len(over), len(under))
	}
	ratios := make([]float64, len(over))
	for i := range over {
		if under[i] == 0 {
			return nil, fmt.Errorf("stat: round %d divides by zero", i+1)
		}
		ratios[i] = over[i] / under[i]
	}
	return ratios, nil
}
