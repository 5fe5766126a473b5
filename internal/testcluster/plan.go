package testcluster

import (
	"slices"
	"strings"
)

// Then says what becomes of a connection after a reply on it was lost.
type Then int

// What becomes of the connection. Either way nothing more is delivered on it to the client; replies that come behind
// the lost one are lost with it and are not counted. What the client sent is applied all the same.
const (
	ThenClose  Then = 1 + iota // it is closed when the reply would have been delivered
	ThenSilent                 // it stays open until the client closes it
)

// action is what happens to one reply: nothing (the zero value), lost, or another in its place.
type action struct {
	lose   Then
	answer []byte
	swap   bool // answer stands in for the reply
}

// plan is an action that waits for the commands it is meant for.
type plan struct {
	commands []string
	left     int
	act      action
}

// greetings are the commands that clients send of their own accord on a new or an idle connection.
var greetings = []string{"HELLO", "AUTH", "CLIENT", "SELECT", "PING"}

func (pl *plan) meets(command string) bool {
	if len(pl.commands) == 0 {
		return !slices.Contains(greetings, command)
	}
	return slices.Contains(pl.commands, command)
}

// DropNextReply lets the next command be applied and its reply be lost; the connection is then closed.
func (p *Proxy) DropNextReply(commands ...string) { p.DropReplies(1, ThenClose, commands...) }

// DropReplies lets the next n commands be applied and their replies be lost.
func (p *Proxy) DropReplies(n int, then Then, commands ...string) {
	p.arm(&plan{commands: upper(commands), left: n, act: action{lose: then}})
}

// AnswerNext lets the next command be applied and the client read raw in place of its reply, byte for byte. An empty
// raw swallows the reply, and the client will take the reply of its next command for it. Answers are used in the order
// in which they were given.
func (p *Proxy) AnswerNext(raw []byte, commands ...string) {
	p.arm(&plan{commands: upper(commands), left: 1, act: action{answer: slices.Clone(raw), swap: true}})
}

func upper(commands []string) []string {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = strings.ToUpper(c)
	}
	return names
}

func (p *Proxy) arm(pl *plan) {
	if pl.left < 1 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plans = append(p.plans, pl)
}

// Rewrite passes every reply that no other fault was armed for, with the name of its command in capitals, through f
// and delivers what f returns, until Pass or Rewrite(nil). f is called concurrently and must not keep reply.
func (p *Proxy) Rewrite(f func(command string, reply []byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rewrite = f
}

// Armed returns how many faults on replies have not met their command yet.
func (p *Proxy) Armed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := 0
	for _, pl := range p.plans {
		sum += pl.left
	}
	return sum
}

// Disarm takes back the faults on replies that have not met their command yet, and returns how many those were.
func (p *Proxy) Disarm() (left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pl := range p.plans {
		left += pl.left
	}
	p.plans = nil
	return left
}

// Sent returns how many commands of this name clients have sent through the proxy since it began; all of
// them for "". Commands that follow a subscription on its connection are not counted.
func (p *Proxy) Sent(command string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if command != "" {
		return p.sent[strings.ToUpper(command)]
	}
	sum := 0
	for _, n := range p.sent {
		sum += n
	}
	return sum
}

// take counts a command and returns what is to happen to its reply.
func (p *Proxy) take(command string) action {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent[command]++
	for i, pl := range p.plans {
		if !pl.meets(command) {
			continue
		}
		if pl.left--; pl.left == 0 {
			p.plans = slices.Delete(p.plans, i, i+1)
		}
		return pl.act
	}
	return action{}
}
