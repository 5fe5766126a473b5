package node

import (
	"errors"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// readStamp reads the answer to a fenced SET that was not refused. A counter that is none costs the node's vote, but the keys
// are there.
func readStamp(v any) (quorum.Stamp, state, quorum.Vote, error) {
	list, _ := v.([]any)
	if len(list) == 2 && list[0] == int64(1) {
		if text, ok := list[1].(string); ok {
			return quorum.Stamp{}, stateGranted, quorum.Unknown, errors.New(text)
		}
	}
	if n, ok := integers(list); ok && len(n) == 4 && n[0] == 1 && n[1] > 0 && (n[3] == 0 || n[3] == 1) {
		return quorum.Stamp{Counter: n[1], Time: n[2], Seeded: n[3] == 1}, stateGranted, quorum.Granted, nil
	}
	return quorum.Stamp{}, stateUnknown, quorum.Unknown, ErrShape
}

// integers are the elements of a list, if all are integers.
func integers(list []any) ([]int64, bool) {
	out := make([]int64, len(list))
	for i, v := range list {
		var ok bool
		if out[i], ok = v.(int64); !ok {
			return nil, false
		}
	}
	return out, true
}
