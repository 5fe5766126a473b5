package link

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	chunkSize = 16 << 10
	// inFlight bounds the chunks under way in one direction of one node. A reader
	// waits when it is reached; in one millisecond nobody here sends that many.
	inFlight = 1 << 14
)

// serve relays to the nodes order[1:] with order[0] as the delay of one way, writes
// the addresses it listens on as one line to out, and returns when in ends.
func serve(order []string, in io.Reader, out io.Writer) error {
	delay, err := time.ParseDuration(order[0])
	if err != nil {
		return fmt.Errorf("link: %w", err)
	}
	// The relay's goroutines mostly wait in the kernel for the same instant: with
	// as many Ps as lines none of them waits for a P that another one holds.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2*len(order)))
	var listening []string
	for _, node := range order[1:] {
		r, err := newRelay(node, delay)
		if err != nil {
			return err
		}
		listening = append(listening, r.listener.Addr().String())
		go r.accept() // owned by the process, which ends with in
	}
	if _, err := fmt.Fprintln(out, strings.Join(listening, " ")); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// relay is the way to one node and back.
type relay struct {
	node      string
	listener  net.Listener
	out, back *line
}

func newRelay(node string, delay time.Duration) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	out, errOut := newLine(delay)
	back, errBack := newLine(delay)
	if err := errors.Join(errOut, errBack); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return &relay{node: node, listener: listener, out: out, back: back}, nil
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		node, err := net.Dial("tcp", r.node)
		if err != nil {
			_ = client.Close()
			continue
		}
		go r.out.carry(client, node)
		go r.back.carry(node, client)
	}
}

// chunk is a piece of a stream on its way. A nil buf is the stream's end.
type chunk struct {
	due      time.Time
	from, to net.Conn
	buf      *[]byte
	n        int
}

var buffers = sync.Pool{New: func() any {
	b := make([]byte, chunkSize)
	return &b
}}

// line is one direction of one node: all its chunks take equally long, so a first
// in, first out queue hands them on in the order in which they are due.
type line struct {
	delay  time.Duration
	queue  chan chunk
	waiter *waiter
}

func newLine(delay time.Duration) (*line, error) {
	w, err := newWaiter()
	if err != nil {
		return nil, err
	}
	l := &line{delay: delay, queue: make(chan chunk, inFlight), waiter: w}
	go l.deliver() // owned by the process
	return l, nil
}

// carry queues what from says until it ends.
func (l *line) carry(from, to net.Conn) {
	for {
		buf := buffers.Get().(*[]byte)
		n, err := from.Read(*buf)
		if n > 0 {
			l.queue <- chunk{due: time.Now().Add(l.delay), from: from, to: to, buf: buf, n: n}
		}
		if err != nil {
			l.queue <- chunk{due: time.Now().Add(l.delay), from: from, to: to}
			return
		}
	}
}

// deliver hands on each chunk when it is due. A write cannot hold up the others for
// long: the nodes and clients of a benchmark read what they are sent.
func (l *line) deliver() {
	for c := range l.queue {
		l.waiter.until(c.due)
		if c.buf == nil {
			_ = c.to.Close()
			_ = c.from.Close()
			continue
		}
		_, _ = c.to.Write((*c.buf)[:c.n]) // an error shows at the reader, too, which ends the stream
		buffers.Put(c.buf)
	}
}
