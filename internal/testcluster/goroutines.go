package testcluster

import (
	"runtime"
	"strings"
)

// Goroutines returns how many goroutines this process has, without those that proxies, masters and the clients of a
// container engine started.
func Goroutines() int {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	count := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		_, creator, _ := strings.Cut(stack, "\ncreated by ")
		// The proxies' goroutines are started by sync.WaitGroup.Go, so that their own frames must be looked at.
		ours := strings.Contains(stack, "/internal/testcluster.(*") ||
			strings.HasPrefix(creator, "github.com/alicebob/miniredis/") || strings.HasPrefix(creator, "net/http.")
		if !ours {
			count++
		}
	}
	return count
}
