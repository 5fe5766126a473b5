package testcluster

import (
	"net"
	"time"
)

// writeMaster delivers what is due at the master, and then the client's end of the stream.
func (l *link) writeMaster(master *net.TCPConn) {
	defer l.toMaster.kill() // or the reader would wait for room
	for {
		c, ok := l.toMaster.pop()
		if !ok {
			break
		}
		if !l.await(c) {
			return
		}
		if l.proxy.swallows(l) {
			continue
		}
		if _, err := master.Write(c.data); err != nil {
			return // the master's reader meets the same end
		}
	}
	if l.proxy.swallows(l) {
		l.cut(false) // the client is gone and the master must not hear of it in a last message
		return
	}
	_ = master.CloseWrite()
}

// writeClient delivers what is due at the client until the master's end of the stream.
func (l *link) writeClient() {
	silent, discard := false, false
	for {
		c, ok := l.toClient.pop()
		if !ok {
			break
		}
		if !l.await(c) {
			return
		}
		switch {
		case discard:
		case l.proxy.swallows(l):
		case c.then == ThenClose:
			discard = true
			_ = l.client.Close()
		case c.then == ThenSilent:
			silent, discard = true, true
		default:
			// A client that is gone is no reason to stop: what it sent is still on its way to the master.
			_, err := l.client.Write(c.data)
			discard = err != nil
		}
	}
	if silent || l.proxy.swallows(l) {
		select {
		case <-l.gone:
		case <-l.done:
		}
	}
}

// await waits until a chunk is due and returns false when the link ended before.
func (l *link) await(c chunk) bool {
	wait := time.Until(c.due)
	if wait <= 0 {
		return !l.hasEnded()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.hurry:
		return true
	case <-l.done:
		return false
	}
}
