package audit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/internal/schema"
)

// Checker checks the invariants event by event. It reports every fault of a run once, and then
// continues as if the event had been correct. If a misplaced event breaks several invariants, only
// the first in the contract's order is reported. A Checker is not safe for concurrent use.
type Checker struct {
	l       *contract.Lifecycle
	rules   []namedRule
	schema  string // the id of the invariant that an invalid line breaks
	runs    map[string]*view
	closed  closedRuns // the runs that have ended
	line    int
	lines   int
	skipped map[string]int
	schemas map[string]*schema.Schema // by event type, of another version's contract; nil: this program's
}

// Tally counts the input of a Checker.
type Tally struct {
	Lines int // without empty ones
	Runs  int
	// Unfinished are the runs that have not ended.
	Unfinished int
	// Skipped counts, by invariant id, the events on which the invariant could not be checked for lack
	// of data. A correct log of this library has no such events.
	Skipped map[string]int
}

// Tally returns the counts so far.
func (c *Checker) Tally() Tally {
	unfinished := len(c.runs)
	if !c.closed.slim {
		for _, r := range c.runs {
			if c.l.Terminal(r.state) {
				unfinished--
			}
		}
	}
	tally := Tally{Lines: c.lines, Runs: len(c.runs) + len(c.closed.runs), Unfinished: unfinished}
	if len(c.skipped) > 0 {
		tally.Skipped = maps.Clone(c.skipped)
	}
	return tally
}

// Open returns how many runs have not ended: Tally().Unfinished for the embedded contract, but at
// no cost.
func (c *Checker) Open() int { return len(c.runs) }

type namedRule struct {
	id string
	rule
	scope scope
}

// scope is the part of an event that a rule judges.
type scope int

const (
	// inPlace judges the event's place in the run. Only the first broken rule is reported, since
	// the others follow from it.
	inPlace scope = iota
	// inItself judges the event's content. Each broken rule is reported.
	inItself
	// inEnvelope judges the members that events of every type have.
	inEnvelope
)

func scopeOf(r rule) scope {
	switch r := r.(type) {
	case *monotone, *constant:
		return inEnvelope
	case *contiguous:
		if r.Per == "" {
			return inEnvelope
		}
	case *declared, *equal, *iff, *policyRow, *implies, *sameTime, *asSubmitted, *waitsFor:
		return inItself
	}
	return inPlace
}

// NewChecker returns a Checker of the embedded contract.
func NewChecker() *Checker { return newChecker(embedded(), embeddedRules()) }

// NewCheckerFor returns a Checker of another contract. It panics when an invariant of it cannot be
// executed, see Executable.
func NewCheckerFor(l *contract.Lifecycle) *Checker { return newChecker(l, mustRules(l)) }

func newChecker(l *contract.Lifecycle, r ruleSet) *Checker {
	return &Checker{
		l: l, schema: r.schema, rules: r.rules, runs: map[string]*view{}, closed: newClosedRuns(r.rules),
		skipped: map[string]int{},
	}
}

// ruleSet has the invariants of a contract in executable form. Checkers share it unchanged.
type ruleSet struct {
	schema string // the id of the invariant that requires valid events; "" for none
	rules  []namedRule
}

var embeddedRules = sync.OnceValue(func() ruleSet { return mustRules(embedded()) })

func mustRules(l *contract.Lifecycle) ruleSet {
	set, err := rulesOf(l)
	if err != nil {
		panic(err)
	}
	return set
}

// Executable returns the invariants of a contract that cannot be executed, joined, or nil: their
// kind is unknown, or their parameters do not fit it or have unknown names. The error matches
// contract.ErrContract.
func Executable(l *contract.Lifecycle) error {
	_, err := rulesOf(l)
	return err
}

func rulesOf(l *contract.Lifecycle) (set ruleSet, err error) {
	var faults []error
	for _, v := range l.Invariants {
		r, err := ruleOf(l, v)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("%w: %s: %w", contract.ErrContract, v.ID, err))
		case v.Kind == "schema_valid":
			set.schema = v.ID
		default:
			set.rules = append(set.rules, namedRule{v.ID, r, scopeOf(r)})
		}
	}
	return set, errors.Join(faults...)
}

// Line checks the next line of a log and returns its violations.
func (c *Checker) Line(body []byte) []Violation {
	c.line++
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	c.lines++
	e, err := fcmp.Verify(body)
	if err == nil {
		err = c.understood(body, &e)
	}
	if err != nil {
		return c.refuse(body, e, err)
	}
	return c.judge(newStep(e), c.line)
}

// Refuse reports the next line of a log as invalid for the given reason.
func (c *Checker) Refuse(body []byte, reason error) []Violation {
	c.line++
	c.lines++
	return c.refuse(body, fcmp.Event{}, reason)
}

// Verified checks the next event of a log, which fcmp.Verify returned, without its schema. It counts
// as a line.
func (c *Checker) Verified(e fcmp.Event) []Violation {
	c.line++
	c.lines++
	return c.judge(newStep(e), c.line)
}

// Event checks the next event and returns its violations. It counts as a line.
func (c *Checker) Event(e fcmp.Event) []Violation {
	body, err := encoded(e)
	if err != nil {
		c.line++
		c.lines++
		return []Violation{{Invariant: c.schema, RunID: e.RunID, Line: c.line, Explanation: err.Error()}}
	}
	return c.Line(body)
}

// refuse reports why a line is not an event. Its readable part still enters the run, so that the
// next event is not judged as if this one were missing.
func (c *Checker) refuse(body []byte, e fcmp.Event, reason error) []Violation {
	if c.schema == "" {
		return nil
	}
	readable := e.RunID != ""
	if !readable {
		e.RunID, e.Seq = fcmp.Salvage(body)
	}
	if e.RunID != "" {
		r := c.viewOf(e.RunID, c.line)
		seen := r.head != nil && e.Seq != 0 && e.Seq <= r.head.Seq
		if !seen {
			r.follow(e, readable)
		}
		c.store(e.RunID, r)
	}
	text := strings.TrimPrefix(reason.Error(), "contract: ")
	return []Violation{{Invariant: c.schema, RunID: e.RunID, Line: c.line, Seq: e.Seq, Explanation: text}}
}

// follow continues the run after an invalid event, with its readable content or else as if the
// event were missing.
func (v *view) follow(e fcmp.Event, readable bool) {
	s := newStep(e)
	if readable && v.l.HasPayload(e.Type) && (e.Type != fcmp.TypeStateChanged || slices.Contains(v.l.StateNames(),
		s.data.To)) {
		v.advance(s)
		return
	}
	if e.Seq == 0 && v.head != nil {
		e.Seq = v.head.Seq + 1
	}
	if v.head != nil {
		e.TS, e.Engine = v.head.TS, v.head.Engine
	}
	v.head = &step{Event: e}
	if !v.l.Terminal(v.state) {
		v.markUnknown()
	}
}

// Close reports the runs whose last event must be followed by another one, in line order.
func (c *Checker) Close() []Violation {
	var out []Violation
	for id, r := range c.runs {
		for _, rule := range c.rules {
			end, ok := rule.rule.(finisher)
			if !ok {
				continue
			}
			if lack := end.unfinished(r); lack != "" {
				out = append(out, Violation{Invariant: rule.id, RunID: id, Line: r.line, Seq: r.head.logged,
					Explanation: lack})
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b Violation) int { return a.Line - b.Line })
	return out
}

// viewOf returns the view of a run, for its next event.
func (c *Checker) viewOf(run string, line int) *view {
	r := c.runs[run]
	if r == nil {
		r = c.closed.remove(run, c)
	}
	if r == nil {
		r = newView(c.l)
	}
	r.line = line
	return r
}

func (c *Checker) store(run string, r *view) {
	if c.closed.storeEnd(run, r) {
		delete(c.runs, run)
		return
	}
	c.runs[run] = r
}

// judge judges the event of a line by all rules. A member of its data that a partial event lacks
// is unknown, as are an attempt of -1, a local_seq of 0 and an empty engine. An event of an unknown
// type has only its envelope judged.
func (c *Checker) judge(s *step, line int) []Violation {
	r := c.viewOf(s.RunID, line)
	defer func() { c.store(s.RunID, r) }()
	if r.head == nil && s.partial && s.Type != fcmp.TypeStarted {
		r.markUnknown()
	}
	j := judgement{c: c, view: r, step: s, line: line, declared: c.l.HasPayload(s.Type)}
	if r.prev.decides() && s.decides() && r.prev.misplaced { // the deadline of both was reported
		j.placed, s.misplaced = true, true
	}
	if r.head != nil && s.Seq <= r.head.Seq {
		// The event is in the log twice, or the log is out of order. Only the first of consecutive
		// events like that is reported; none becomes part of the run.
		if r.repeated == 0 || s.Seq != r.repeated+1 {
			j.applyRules(func(r namedRule) bool { return r.counts("seq") })
		}
		r.repeated = s.Seq
		return j.found
	}
	if !j.declared || r.pastEnd && s.Type != fcmp.TypeStateChanged {
		j.applyRules(func(r namedRule) bool { return r.scope == inEnvelope })
		r.pass(s)
		return j.found
	}
	j.applyRules(func(namedRule) bool { return true })
	switch {
	case j.ended && s.Type != fcmp.TypeStateChanged:
		r.pastEnd = true
		r.pass(s)
	case j.ended: // the run continues after its end, and closedRuns has kept only a part of its view
		r.markUnknown()
		r.advance(s)
	default:
		r.advance(s)
	}
	return j.found
}

// judgement checks one event against the rules.
type judgement struct {
	c        *Checker
	view     *view
	step     *step
	line     int
	declared bool

	found  []Violation
	placed bool // the event's place was reported as wrong
	ended  bool // the event follows the run's end
}

func (j *judgement) applyRules(which func(namedRule) bool) {
	for _, rule := range j.c.rules {
		if !which(rule) || j.ended || j.placed && rule.scope == inPlace {
			continue
		}
		wrong := rule.judge(j.view, j.step)
		if j.step.undecided {
			j.step.undecided = false
			j.c.skipped[rule.id]++
		}
		if wrong == "" {
			continue
		}
		j.found = append(j.found, Violation{Invariant: rule.id, RunID: j.step.RunID, Line: j.line, Seq: j.step.logged,
			Explanation: wrong})
		j.placed = j.placed || rule.scope == inPlace
		j.step.misplaced = j.placed
		j.adjustView(rule)
	}
}

// adjustView changes the view after a fault, so that the fault is not reported again.
func (j *judgement) adjustView(rule namedRule) {
	switch r := rule.rule.(type) {
	case *absorbing:
		j.ended = true
	case *startsWith:
		if j.view.head == nil {
			j.view.markUnknown()
		}
	case *countsAt:
		if r.Field == "meta.attempt" {
			j.view.last = nil // another attempt has begun, and each may have these events once
		}
	case *onlyWhile:
		j.view.state = ""
	case *blockedAs:
		if r.beginsIn(j.view.state) == nil {
			j.view.state = ""
		}
	case *contiguous:
		if rule.counts("seq") && j.view.head != nil {
			j.view.markUnknown() // events are missing
			j.placed = true
		}
	}
}

func (r namedRule) counts(field string) bool {
	c, ok := r.rule.(*contiguous)
	return ok && c.Field == field && c.Per == ""
}
