package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Checker decides the invariants event by event. After its first violation a run is not judged any further: what
// follows would be consequences. A Checker is not safe for concurrent use.
type Checker struct {
	l      *Lifecycle
	rules  []namedRule
	schema string // the id of the invariant that a line which is no event breaks
	runs   map[string]*view
	closed closedRuns // those that nothing more is asked of
	line   int
	lines  int
}

// Tally is what a Checker has seen.
type Tally struct {
	Lines int // without empty ones
	Runs  int
	// Unfinished are the runs that had not ended, in none of which a violation was found.
	Unfinished int
}

// Tally returns what was seen up to now.
func (c *Checker) Tally() Tally {
	unfinished := len(c.runs)
	if !c.closed.slim {
		for _, r := range c.runs {
			if c.l.Terminal(r.state) {
				unfinished--
			}
		}
	}
	return Tally{Lines: c.lines, Runs: len(c.runs) + len(c.closed.runs), Unfinished: unfinished}
}

type namedRule struct {
	id string
	rule
}

// NewChecker returns a Checker of the contract that this program was built with.
func NewChecker() *Checker { return embedded().checker(embeddedRules()) }

// Checker returns a Checker of this contract. It panics when the contract is unsound; Parse returns none such.
func (l *Lifecycle) Checker() *Checker { return l.checker(l.rules()) }

func (l *Lifecycle) checker(r ruleSet) *Checker {
	return &Checker{l: l, schema: r.schema, rules: r.rules, runs: map[string]*view{}, closed: newClosedRuns(r.rules)}
}

// ruleSet is the invariants of a contract, executable. It is shared by checkers and not changed.
type ruleSet struct {
	schema string // the id of the one that asks for valid events; "": none does
	rules  []namedRule
}

// embeddedRules are those of the contract that this program was built with.
var embeddedRules = sync.OnceValue(func() ruleSet { return embedded().rules() })

func (l *Lifecycle) rules() (set ruleSet) {
	for _, v := range l.Invariants {
		r, err := l.rule(v)
		if err != nil {
			panic(fmt.Errorf("%w: %s: %w", ErrContract, v.ID, err))
		}
		if v.Kind == "schema_valid" {
			set.schema = v.ID
			continue
		}
		set.rules = append(set.rules, namedRule{v.ID, r})
	}
	return set
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
		if e.RunID == "" {
			e.RunID, e.Seq = salvage(body)
		}
		if e.RunID != "" {
			if c.closed.broken(e.RunID) {
				return nil
			}
			c.closeBroken(e.RunID)
		}
		return &Violation{Invariant: c.schema, RunID: e.RunID, Line: c.line, Seq: e.Seq, Explanation: strings.TrimPrefix(err.Error(), "contract: ")}
	}
	return c.judge(e)
}

// salvage reads from a line that is no event whose event it would be, so that what follows is not judged as if it were missing.
func salvage(body []byte) (run string, seq uint64) {
	var e struct {
		RunID string `json:"run_id"`
		Seq   uint64 `json:"seq"`
	}
	_ = json.Unmarshal(bytes.TrimPrefix(body, byteOrderMark), &e) // members that have another type stay empty
	if !isRunID(e.RunID) {
		return "", 0
	}
	return e.RunID, e.Seq
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

// Close says, in the order of their last lines, which of the runs lack what must follow their last event.
func (c *Checker) Close() []Violation {
	var out []Violation
	for id, r := range c.runs {
		for _, rule := range c.rules {
			end, ok := rule.rule.(finisher)
			if !ok {
				continue
			}
			if lack := end.unfinished(r); lack != "" {
				out = append(out, Violation{Invariant: rule.id, RunID: id, Line: r.line, Seq: r.prev.Seq, Explanation: lack})
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b Violation) int { return a.Line - b.Line })
	return out
}

func (c *Checker) judge(e Event) *Violation {
	if c.closed.broken(e.RunID) {
		return nil
	}
	r := c.runs[e.RunID]
	if r == nil {
		r = c.closed.view(e.RunID, c.l)
	}
	if r == nil {
		r = &view{l: c.l, state: c.l.Submission.To}
		c.runs[e.RunID] = r
	}
	r.line = c.line
	s := newStep(e)
	for _, rule := range c.rules {
		if wrong := rule.judge(r, s); wrong != "" {
			c.closeBroken(e.RunID)
			return &Violation{Invariant: rule.id, RunID: e.RunID, Line: c.line, Seq: e.Seq, Explanation: wrong}
		}
	}
	r.advance(s)
	if c.closed.keepEnd(r) {
		delete(c.runs, e.RunID)
	}
	return nil
}

// closeBroken keeps of a run only that a violation was found in it.
func (c *Checker) closeBroken(run string) {
	delete(c.runs, run)
	c.closed.runs[run] = lastOf{}
}
