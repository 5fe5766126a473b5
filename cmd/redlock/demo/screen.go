package demo

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// screen prints for a person: plain text, with a little colour where the other side is a terminal that wants it.
type screen struct {
	out     io.Writer
	colours bool
	chapter int
}

const (
	bold  = "1"
	green = "32"
	red   = "31"
)

func newScreen(out io.Writer) *screen {
	f, ok := out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return &screen{out: out}
	}
	info, err := f.Stat()
	return &screen{out: out, colours: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (s *screen) paint(colour, text string) string {
	if !s.colours {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (s *screen) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// head begins the next chapter.
func (s *screen) head(format string, args ...any) {
	s.chapter++
	s.say("\n%s", s.paint(bold, fmt.Sprintf("%d. "+format, append([]any{s.chapter}, args...)...)))
}

// outcome prints how a call ended: its result in the first line, then one line for each missing vote.
func (s *screen) outcome(t try, result string) {
	colour := green
	if t.err != nil {
		colour = red
	}
	s.say("   %s %s after %s: %s", t.who, s.paint(colour, result), round(t.took), tally(t.votes))
	for _, f := range failures(t.err) {
		s.say("     %s", f)
	}
}

// table prints a line for every master: what it was seen to hold and, for the client that asked last, what that makes of
// the master's vote. Nobody asked is "".
func (s *screen) table(addrs []string, views []view, owners map[string]string, asked string) {
	// Colours would count as width: the table has none.
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	head := []string{"   node", "address", "master", "key of", "lives for"}
	if asked != "" {
		head = append(head, "vote for "+asked)
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for i, v := range views {
		row := append([]string{"   " + strconv.Itoa(i), addrs[i]}, v.seen(owners)...)
		if asked != "" {
			row = append(row, v.vote(owners, asked))
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // nothing can be done for a screen that is gone
}

func (v view) seen(owners map[string]string) []string {
	switch {
	case !v.up:
		return []string{"dead", "?", "?"}
	case v.mark == "":
		return []string{"up", "nobody", "-"}
	}
	return []string{"up", owners[v.mark] + " #" + v.mark, round(v.remain)}
}

func (v view) vote(owners map[string]string, asked string) string {
	switch {
	case v.mark == "":
		return "missing"
	case owners[v.mark] == asked:
		return "granted"
	}
	return "refused"
}

// round keeps what a reader can use of a duration.
func round(d time.Duration) string {
	if d < time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond / 10).String()
}
