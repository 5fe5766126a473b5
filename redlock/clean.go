package redlock

import (
	"errors"
	"strings"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

func (c *core) newError(op, key string) *QuorumError {
	return &QuorumError{Op: op, Key: key, Nodes: len(c.names), Quorum: quorum.Size(len(c.names))}
}

func (c *core) nodeErrors(causes []error, tokens []string) []*NodeError {
	var out []*NodeError
	for i, err := range causes {
		if err != nil {
			out = append(out, &NodeError{Index: i, Name: c.names[i], Err: clean(err, tokens...)})
		}
	}
	return out
}

// secrets are the tokens that a node may quote: the round's own and, where it took the keys over, the one before.
func (r *round) secrets() []string {
	tokens := []string{r.bid.Token.(string)}
	if from, ok := r.bid.From.(string); ok {
		tokens = append(tokens, from)
	}
	for i, t := range tokens {
		tokens[i], _, _ = strings.Cut(t, " ") // the label behind it is none
	}
	return tokens
}

// errNodeTimeout is the cause of a vote that did not come within the node timeout.
var errNodeTimeout = errors.New("no answer within the node timeout")

// serverError is a reply of a server, its text cleaned.
type serverError string

func (t serverError) Error() string { return string(t) }

// RedisError marks the error as a reply of a server, as the client's own errors are.
func (t serverError) RedisError() {}

// clean returns err, or an error of the same kind whose text holds none of the tokens: a server that does not know a command quotes
// what it was sent, and the client quotes a reply that it cannot read.
func clean(err error, tokens ...string) error {
	text := err.Error()
	cut, _, _ := strings.Cut(text, ", with args beginning with")
	cut = withoutReply(cut)
	for _, token := range tokens {
		cut = hide(cut, token)
	}
	if cut == text {
		return err
	}
	if _, ok := errorAs[interface{ RedisError() }](err); ok {
		return serverError(cut)
	}
	return errors.New(cut)
}

// withoutReply cuts off what the client quotes of a reply. The reply may be that to another caller's command, whose token is
// not known here: they share a pipeline, and its end.
func withoutReply(text string) string {
	for _, says := range [...]string{"redis: can't parse", "redis: invalid reply", "strconv."} {
		if strings.HasPrefix(text, says) {
			text, _, _ = strings.Cut(text, `"`)
		}
	}
	return text
}

// hide cuts the token out of a text, also where only its beginning is quoted.
func hide(text, token string) string {
	const least = 8 // characters, 40 bits of which are no coincidence
	if len(token) < least {
		return text // there is none of ours: nothing to hide
	}
	for {
		i := strings.Index(text, token[:least])
		if i < 0 {
			return text
		}
		n := least
		for n < len(token) && strings.HasPrefix(text[i+n:], token[n:n+1]) {
			n++
		}
		text = text[:i] + "…" + text[i+n:]
	}
}

func errorAs[T any](err error) (T, bool) {
	var target T
	ok := errors.As(err, &target) //nolint:forbidigo // errors.AsType wants a type that is an error
	return target, ok
}
