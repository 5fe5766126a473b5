package testcluster

import (
	"sync"
	"time"
)

// lineLimit is how many bytes one direction of one connection may have under way; who sends more waits.
const lineLimit = 16 << 20

// chunk is what was read at once, or says that a reply was lost at this point of the stream.
type chunk struct {
	data  []byte
	due   time.Time
	hurry <-chan struct{} // closed: it is due now
	then  Then            // 0: data is to be delivered
}

// line is one direction of one connection: chunks in order, each with the time it is due at. Any number of chunks is
// under way at the same time, which makes a delay a latency and not a throttle.
type line struct {
	mu     sync.Mutex
	moved  sync.Cond // something was pushed or popped, or the line ended
	chunks []chunk
	bytes  int
	ended  bool // nothing more is pushed
	dead   bool // nothing more is popped
}

func newLine() *line {
	q := &line{}
	q.moved.L = &q.mu
	return q
}

// push queues c. It waits while the line is full and does nothing on a dead line.
func (q *line) push(c chunk) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes > lineLimit && !q.dead {
		q.moved.Wait()
	}
	if q.dead {
		return
	}
	q.chunks = append(q.chunks, c)
	q.bytes += len(c.data)
	q.moved.Broadcast()
}

// pop waits for the next chunk and returns false when there will be none. Waiting until it is due is the caller's, who
// by doing so keeps what was queued behind it from overtaking, whatever that is due at.
func (q *line) pop() (chunk, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.chunks) == 0 && !q.ended && !q.dead {
		q.moved.Wait()
	}
	if q.dead || len(q.chunks) == 0 {
		return chunk{}, false
	}
	c := q.chunks[0]
	q.chunks[0] = chunk{}
	q.chunks = q.chunks[1:]
	q.bytes -= len(c.data)
	q.moved.Broadcast()
	return c, true
}

// end lets pop return false once everything was popped.
func (q *line) end() {
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	q.moved.Broadcast()
}

// kill throws away what is under way and frees who waits.
func (q *line) kill() {
	q.mu.Lock()
	q.dead = true
	q.chunks = nil
	q.mu.Unlock()
	q.moved.Broadcast()
}
