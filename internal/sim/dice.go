package sim

import "time"

// dice is a source of chance (splitmix64). Every actor of a schedule has its own, thrown from the seed, so what one draws does not
// depend on how many others drew before it: goroutines that run at one instant may come in any order.
type dice uint64

// throw returns the dice of one actor: who it is, in as many numbers as that takes.
func throw(seed uint64, who ...uint64) dice {
	d := dice(seed)
	for _, w := range who {
		d = dice(d.next() ^ (w+1)*0x9e3779b97f4a7c15)
	}
	return d
}

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 to n-1.
func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

// often is true in so many of a thousand cases.
func (d *dice) often(permille int) bool { return d.below(1000) < permille }

// between is a duration from low to high. It has all the digits that a nanosecond gives, for no two events may meet.
func (d *dice) between(low, high time.Duration) time.Duration {
	return low + time.Duration(d.next()%uint64(high-low+1))
}

// ppm is a clock's rate: at most so many millionths off, to either side.
func (d *dice) ppm(most int64) int64 { return int64(d.next()%uint64(2*most+1)) - most }
