package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64
}

// counts are tests and subtests by how they ended.
type counts struct{ passed, failed, skipped int }

func (c counts) plus(d counts) counts {
	return counts{c.passed + d.passed, c.failed + d.failed, c.skipped + d.skipped}
}

func (c counts) String() string {
	return fmt.Sprintf("%d run: %d passed, %d failed, %d skipped", c.passed+c.failed, c.passed, c.failed, c.skipped)
}

// suite is what is known of one package's tests.
type suite struct {
	counts
	masters string              // the back end it announced; "" while it announced none
	verdict string              // go test's own closing line
	output  map[string][]string // by test, "" for the package; dropped as soon as a test passed
	skips   []string
}

// collector turns the event streams of one run into counts. Not for use by several goroutines.
type collector struct {
	out    io.Writer
	order  []string
	suites map[string]*suite
}

func newCollector(out io.Writer) *collector {
	return &collector{out: out, suites: make(map[string]*suite)}
}

// announcement is the line by which internal/testcluster names the back end in use.
var announcement = regexp.MustCompile(`^testcluster: the masters are (\w+)`)

// read consumes one stream of events until it ends. A line that is no event is passed on as it is.
func (c *collector) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(c.out, "%s", line)
			} else {
				c.event(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *collector) event(e event) {
	if e.Package == "" {
		// A build's own output comes before, and apart from, the package's events.
		fmt.Fprint(c.out, e.Output)
		return
	}
	s := c.suite(e.Package)
	switch e.Action {
	case "output":
		s.say(e)
	case "pass", "fail", "skip":
		if e.Test == "" {
			c.closePackage(e, s)
		} else {
			c.closeTest(e, s)
		}
	}
}

func (c *collector) suite(pkg string) *suite {
	s := c.suites[pkg]
	if s == nil {
		s = &suite{output: make(map[string][]string)}
		c.suites[pkg] = s
		c.order = append(c.order, pkg)
	}
	return s
}

func (s *suite) say(e event) {
	if m := announcement.FindStringSubmatch(e.Output); m != nil {
		s.masters = m[1]
	}
	switch {
	case e.Test == "" && isVerdict(e.Output):
		s.verdict = e.Output
	case strings.HasPrefix(e.Output, "=== "), e.Test == "" && e.Output == "PASS\n":
	default:
		s.output[e.Test] = append(s.output[e.Test], e.Output)
	}
}

// isVerdict tells go test's closing line of a package from what the package printed itself.
func isVerdict(line string) bool {
	return strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "?   \t")
}

func (c *collector) closeTest(e event, s *suite) {
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
		fmt.Fprint(c.out, strings.Join(s.output[e.Test], ""))
	case "skip":
		s.skipped++
		s.skips = append(s.skips, strings.Join(s.output[e.Test], ""))
	}
	delete(s.output, e.Test)
}

func (c *collector) closePackage(e event, s *suite) {
	if e.Action == "fail" {
		for _, lines := range s.output {
			fmt.Fprint(c.out, strings.Join(lines, ""))
		}
	}
	clear(s.output)
	if s.counts != (counts{}) {
		fmt.Fprintf(c.out, "%s: %s in %.1fs\n", e.Package, s.counts, e.Elapsed)
	}
}
