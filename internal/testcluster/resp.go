package testcluster

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

var errFraming = errors.New("testcluster: not RESP")

// replyTypes are the first bytes of what a server sends, RESP2 and RESP3.
const replyTypes = "+-:_#,($!=*~>%|"

// maxBulk is the longest string a Redis server sends or takes.
const maxBulk = 512 << 20

// header returns the first line of b without its type byte and line end, and how long it is with both; 0 while it is
// incomplete.
func header(b []byte) (line []byte, n int) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return nil, 0
	}
	return bytes.TrimSuffix(b[min(1, end):end], []byte{'\r'}), end + 1 // an empty line has no type byte
}

// count reads the number of a header, between -1 and limit.
func count(line []byte, limit int) (int, error) {
	n, err := strconv.Atoi(string(line))
	if err != nil || n < -1 || n > limit {
		return 0, errFraming
	}
	return n, nil
}

// scanReply returns the length of the reply that b begins with, RESP2 or RESP3: 0 while it is incomplete, errFraming
// when it is none.
func scanReply(b []byte) (int, error) {
	pos := 0
	for open := 1; open > 0; open-- {
		if pos >= len(b) {
			return 0, nil
		}
		kind := b[pos]
		if strings.IndexByte(replyTypes, kind) < 0 {
			return 0, errFraming // without waiting for a line that noise may never end
		}
		line, n := header(b[pos:])
		if n == 0 {
			return 0, nil
		}
		pos += n
		switch kind {
		case '$', '!', '=':
			size, err := count(line, maxBulk)
			if err != nil {
				return 0, err
			}
			if size >= 0 {
				pos += size + 2
			}
		case '*', '~', '>', '%', '|':
			items, err := count(line, maxBulk)
			if err != nil {
				return 0, err
			}
			open += values(kind, items)
		}
	}
	if pos > len(b) {
		return 0, nil
	}
	return pos, nil
}

// values returns how many values follow the header of an aggregate before it is complete.
func values(kind byte, items int) int {
	switch {
	case items < 0:
		return 0
	case kind == '%':
		return 2 * items
	case kind == '|':
		return 2*items + 1 // attributes stand in front of the value they belong to
	default:
		return items
	}
}

// scanCommand returns the length of the command that b begins with, 0 while it is incomplete, and its name in
// capitals, "" for an empty one, which servers do not answer.
func scanCommand(b []byte) (n int, name string, err error) {
	line, pos := header(b)
	if pos == 0 {
		return 0, "", nil
	}
	if b[0] != '*' {
		fields := strings.Fields(string(b[:pos]))
		if len(fields) == 0 {
			return pos, "", nil
		}
		return pos, strings.ToUpper(fields[0]), nil
	}
	items, err := count(line, 1<<20)
	if err != nil {
		return 0, "", err
	}
	for i := range items {
		if pos >= len(b) {
			return 0, "", nil
		}
		line, n := header(b[pos:])
		if n == 0 {
			return 0, "", nil
		}
		size, err := count(line, maxBulk)
		if err != nil || size < 0 || b[pos] != '$' {
			return 0, "", errFraming
		}
		start := pos + n
		pos = start + size + 2
		if pos > len(b) {
			return 0, "", nil
		}
		if i == 0 {
			name = strings.ToUpper(string(b[start : start+size]))
		}
	}
	return pos, name, nil
}
