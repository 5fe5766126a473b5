package testcluster

import (
	"bytes"
	"net"
	"slices"
)

// note cuts what the client sent into commands and opens a slot for the reply of each.
func (l *link) note(data []byte) {
	if l.plainAsked {
		return
	}
	l.asked = append(l.asked, data...)
	for len(l.asked) > 0 {
		n, command, err := scanCommand(l.asked)
		if n == 0 && err == nil {
			return
		}
		plain := err != nil || slices.Contains(endless, command)
		if plain || command != "" {
			s := slot{command: command, plain: plain}
			if err == nil {
				s.act = l.proxy.take(command)
			}
			l.mu.Lock()
			l.slots = append(l.slots, s)
			l.mu.Unlock()
		}
		if plain {
			l.plainAsked, l.asked = true, nil
			return
		}
		l.asked = l.asked[n:]
	}
}

// endless are the commands after which messages come that are no replies.
var endless = []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR", "SYNC", "PSYNC"}

// readMaster takes what the master sends, applies the faults of each reply and puts the rest on the line to the client.
func (l *link) readMaster(master *net.TCPConn) {
	defer l.toClient.end()
	buf := make([]byte, 32<<10)
	for {
		n, err := master.Read(buf)
		if n > 0 {
			l.replies(buf[:n])
		}
		if err != nil {
			l.ended(err)
			return
		}
	}
}

// replies cuts what the master sent into replies. What can be delivered together goes as one chunk.
func (l *link) replies(data []byte) {
	l.answered = append(l.answered, data...)
	var batch []byte
	for len(l.answered) > 0 {
		s, open, plain := l.nextSlot()
		n, err := len(l.answered), error(nil)
		if !plain {
			n, err = scanReply(l.answered)
		}
		if err != nil {
			l.plainAnswered = true
			continue
		}
		if n == 0 {
			break
		}
		reply := l.answered[:n]
		l.answered = l.answered[n:]
		if plain || reply[0] == '>' || !open { // a push, or an error that answers no command
			batch = append(batch, reply...)
			continue
		}
		l.popSlot()
		batch = l.answer(s, reply, batch)
	}
	l.deliver(batch)
}

// answer appends to batch what the client gets for reply, or ends what it gets.
func (l *link) answer(s slot, reply, batch []byte) []byte {
	switch rewrite := l.proxy.rewriter(); {
	case s.act.lose != 0:
		l.deliver(batch)
		l.lose(s.act.lose)
		return nil
	case s.act.swap:
		return append(batch, s.act.answer...)
	case rewrite != nil:
		return append(batch, rewrite(s.command, reply)...)
	default:
		return append(batch, reply...)
	}
}

// lose ends what is delivered to the client: what is queued behind that chunk is not.
func (l *link) lose(then Then) {
	l.damage()
	lost := l.proxy.toClientNow(nil)
	lost.then = then
	l.toClient.push(lost)
}

func (l *link) deliver(batch []byte) {
	if len(batch) == 0 {
		return
	}
	l.toClient.push(l.proxy.toClientNow(bytes.Clone(batch)))
}

// nextSlot returns the slot that the next reply belongs to, whether there is one, and whether replies are plain bytes
// from here on.
func (l *link) nextSlot() (s slot, open, plain bool) {
	if l.plainAnswered {
		return slot{}, false, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.slots) == 0 {
		return slot{}, false, false
	}
	s = l.slots[0]
	l.plainAnswered = s.plain
	return s, true, s.plain
}

func (l *link) popSlot() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slots = l.slots[1:]
}
