package contract

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Violation is one broken invariant in a recorded log (G4).
type Violation struct {
	// Invariant is its id in the contract.
	Invariant string
	// RunID is empty when the line cannot be read.
	RunID string
	// Line is the line of the log, from 1; for what is missing at the end, the run's last.
	Line int
	// Explanation says what is wrong, for a person.
	Explanation string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("line %d: run %q violates %s: %s", v.Line, v.RunID, v.Invariant, v.Explanation)
}

// Report is what Check found.
type Report struct {
	Lines int // without empty ones
	Runs  int
	// Violation is the first, nil when every invariant holds.
	Violation *Violation
}

// Check reads a recorded event log, one encoded event a line, of one run or of several interleaved, and decides every
// invariant of the contract on it (G4). Empty lines are skipped. It stops at the first violation. The memory it takes is a
// small record for each run, and one line. An error means that the log could not be read to its end.
//
// A log that ends between two events that belong to one commit is a violation: what a store keeps never does.
func Check(r io.Reader) (Report, error) { return embedded().CheckLog(r) }

// CheckLog is Check under this contract.
func (l *Lifecycle) CheckLog(r io.Reader) (Report, error) {
	checker := l.Checker()
	lines := bufio.NewReaderSize(r, 64<<10)
	report := func(v *Violation) Report {
		return Report{Lines: checker.lines, Runs: len(checker.runs), Violation: v}
	}
	for {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return report(nil), fmt.Errorf("contract: reading the log after line %d: %w", checker.line, err)
		}
		if v := checker.Line(line); v != nil {
			return report(v), nil
		}
		if err != nil {
			break
		}
	}
	if left := checker.Close(); len(left) > 0 {
		return report(&left[0]), nil
	}
	return report(nil), nil
}

// readLine returns the next line, of a too long one only a part that is too long as well.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= MaxEvent {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte{'\n'}), err
		}
	}
}

// Checker decides the invariants event by event. After its first violation a run is not judged any further: what
// follows would be consequences. A Checker is not safe for concurrent use.
type Checker struct {
	l      *Lifecycle
	rules  []namedRule
	schema string // the id of the invariant that a line which is no event breaks
	runs   map[string]*view
	order  []string
	line   int
	lines  int
}

type namedRule struct {
	id string
	rule
}

// NewChecker returns a Checker of the contract that this program was built with.
func NewChecker() *Checker { return embedded().Checker() }

// Checker returns a Checker of this contract. It panics when the contract is unsound; Parse returns none such.
func (l *Lifecycle) Checker() *Checker {
	c := &Checker{l: l, runs: map[string]*view{}}
	for _, v := range l.Invariants {
		r, err := l.rule(v)
		if err != nil {
			panic(fmt.Errorf("%w: %s: %w", ErrContract, v.ID, err))
		}
		if v.Kind == "schema_valid" {
			c.schema = v.ID
			continue
		}
		c.rules = append(c.rules, namedRule{v.ID, r})
	}
	return c
}

// Line takes the next line of a log and returns what it violates, or nil.
func (c *Checker) Line(body []byte) *Violation {
	c.line++
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	c.lines++
	e, err := Verify(body)
	if err != nil {
		if c.schema == "" {
			return nil
		}
		if r := c.runs[e.RunID]; r != nil {
			r.broken = true
		}
		return &Violation{Invariant: c.schema, RunID: e.RunID, Line: c.line, Explanation: strings.TrimPrefix(err.Error(), "contract: ")}
	}
	return c.judge(e)
}

// Event takes the next event and returns what it violates, or nil. The event counts as a line.
func (c *Checker) Event(e Event) *Violation {
	body, err := e.encode()
	if err != nil {
		c.line++
		c.lines++
		return &Violation{Invariant: c.schema, RunID: e.RunID, Line: c.line, Explanation: err.Error()}
	}
	return c.Line(body)
}

// Close says, in the order in which the runs began, which of them lack what must follow their last event.
func (c *Checker) Close() []Violation {
	var out []Violation
	for _, id := range c.order {
		r := c.runs[id]
		if r.broken {
			continue
		}
		for _, rule := range c.rules {
			end, ok := rule.rule.(finisher)
			if !ok {
				continue
			}
			if lack := end.unfinished(r); lack != "" {
				out = append(out, Violation{Invariant: rule.id, RunID: id, Line: r.line, Explanation: lack})
				break
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Violation) int { return a.Line - b.Line })
	return out
}

func (c *Checker) judge(e Event) *Violation {
	r := c.runs[e.RunID]
	if r == nil {
		r = &view{l: c.l, state: c.l.Submission.To}
		c.runs[e.RunID], c.order = r, append(c.order, e.RunID)
	}
	if r.broken {
		return nil
	}
	r.line = c.line
	s := newStep(e)
	for _, rule := range c.rules {
		if wrong := rule.judge(r, s); wrong != "" {
			r.broken = true
			return &Violation{Invariant: rule.id, RunID: e.RunID, Line: c.line, Explanation: wrong}
		}
	}
	r.advance(s)
	return nil
}
