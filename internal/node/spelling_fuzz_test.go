package node

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// spelling reads the values that a client makes of replies from a text, a line each: ":1", "+text", "-error", "_" for null, "#t",
// ",1.5", "(12", and "*2" and "%1" in front of their elements; as on the wire, but for the ends of the lines. What is none of
// these is a text, so that every text spells something.
type spelling struct {
	rest  string
	depth int
}

const (
	deepest  = 6  // lists in lists
	broadest = 16 // elements of one
)

func (s *spelling) next() any {
	var line string
	line, s.rest, _ = strings.Cut(s.rest, "\n")
	if line == "" {
		return ""
	}
	body := line[1:]
	switch line[0] {
	case '_':
		return nil
	case '#':
		return body == "t"
	case '+':
		return body
	case '-':
		return replyError(body)
	case ':':
		if n, err := strconv.ParseInt(body, 10, 64); err == nil {
			return n
		}
	case ',':
		if x, err := strconv.ParseFloat(body, 64); err == nil {
			return x
		}
	case '(':
		if n, ok := new(big.Int).SetString(body, 10); ok {
			return n
		}
	case '*':
		return s.list(body)
	case '%':
		m := make(map[any]any)
		all := s.list(body)
		for i := 0; i+1 < len(all); i += 2 {
			m[fmt.Sprint(all[i])] = all[i+1]
		}
		return m
	}
	return line
}

// list is as many of the values that follow as it says, as far as there are any.
func (s *spelling) list(size string) []any {
	all := []any{}
	n, err := strconv.Atoi(size)
	if err != nil || s.depth == deepest {
		return all
	}
	s.depth++
	defer func() { s.depth-- }()
	for len(all) < min(n, broadest) && s.rest != "" {
		all = append(all, s.next())
	}
	return all
}

// What a text may spell besides.
const (
	silence  = "silence"   // the bytes left, and nothing comes back
	notAWord = "not asked" // nothing left
)

// spell is what becomes of a command on a node that says what the text spells, and the shape of it: a number as it is, a text
// in quotes, and of a list its elements in brackets; of all else the kind only.
func spell(text string) (reply, string) {
	switch text {
	case silence:
		return silent, silence
	case notAWord:
		return notAsked, notAWord
	}
	v := (&spelling{rest: text}).next()
	switch v := v.(type) {
	case nil:
		return refused, "null" // at the top it is an error to the client
	case replyError:
		return failed(v), "error"
	case []any:
		var all []string
		for _, element := range v {
			all = append(all, shape(element))
		}
		return value(v), "[" + strings.Join(all, " ") + "]"
	}
	return value(v), shape(v)
}

func shape(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return strconv.Quote(v)
	}
	return strings.NewReplacer("[", "<", "]", ">", " ", "").Replace(fmt.Sprintf("%T", v))
}

// means is the word for an answer of this shape, "" where it is of none that counts.
func means(shapes [][2]string, said string, keys int) string {
	const text = `"(?:[^"\\]|\\.)*"`
	fill := strings.NewReplacer("{n}", strconv.Itoa(keys), "{n+1}", strconv.Itoa(keys+1), "{text}", text, "{any}", "(?:"+text+`|[^\s"]+)`)
	for _, s := range shapes {
		whole := regexp.MustCompile("^(?:" + fill.Replace(s[0]) + ")$")
		if whole.MatchString(said) {
			return whole.ReplaceAllString(said, s[1])
		}
	}
	return ""
}

func TestSpellingsAreOfTheShapesThatTheySay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		":1": "1", ":-9223372036854775808": "-9223372036854775808", ":9223372036854775808": `":9223372036854775808"`,
		"+OK": `"OK"`, "OK": `"OK"`, "": `""`, "-ERR no": "error", "_": "null", "#t": "bool", ",1.5": "float64", "(12": "*big.Int",
		"*0": "[]", "*2\n:1\n+a b": `[1 "a b"]`, "*3\n:1": "[1]", "*2\n_\n-ERR": "[null node.replyError]", "*1\n*2\n:1\n:2": "[<>interface{}]",
		"*1\n%1\n+a\n:1": "[map<interface{}>interface{}]", "%1\n+a\n:1": "map<interface{}>interface{}", "*x": "[]",
		strings.Repeat("*1\n", 2*deepest) + ":1": "[<>interface{}]", silence: silence, notAWord: notAWord,
	} {
		_, got := spell(text)
		require.Equal(t, want, got, "%q", text)
	}
}
