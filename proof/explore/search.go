package explore

import (
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/contract"
)

// Options configure an exploration.
type Options struct {
	// Contract is the explored contract; it is not changed. nil: the embedded contract.
	Contract *contract.Lifecycle
	Bounds   Bounds
	// Without are the guards that are switched off.
	Without []Switch
	// Bare leaves out the event logs: only the record and the protocol are checked.
	Bare bool
	// First ends All after the first scenario with a counter-example.
	First bool
	// Only is the id of the promise that is checked; empty for all promises.
	Only string
}

// Result is the result of exploring one scenario, or of several together.
type Result struct {
	States, Transitions int
	// Depth is the number of steps from the start to the farthest state.
	Depth    int
	Coverage Coverage
	// Broken is a shortest counter-example, nil when every invariant holds.
	Broken *Counterexample
}

// Explore visits every state of the scenario within the bounds, until a promise is broken. An error
// means that the bounds are out of range.
func Explore(o Options, sc Scenario) (Result, error) {
	if err := o.Bounds.Check(); err != nil {
		return Result{}, err
	}
	return explore(o, o.interpreter(), sc), nil
}

// All explores one scenario after the other, and adds up the results.
func All(o Options) (Result, error) {
	var sum Result
	if err := o.Bounds.Check(); err != nil {
		return sum, err
	}
	rules := o.interpreter()
	for _, sc := range Scenarios() {
		sum.Add(explore(o, rules, sc))
		if o.First && sum.Broken != nil {
			break
		}
	}
	return sum, nil
}

// Add adds the result of another exploration. It keeps the shorter counter-example.
func (r *Result) Add(o Result) {
	r.States += o.States
	r.Transitions += o.Transitions
	r.Depth = max(r.Depth, o.Depth)
	r.Coverage.Add(o.Coverage)
	if o.Broken != nil && (r.Broken == nil || len(o.Broken.Steps) < len(r.Broken.Steps)) {
		r.Broken = o.Broken
	}
}

func (o Options) interpreter() *interpreter {
	if o.Contract == nil {
		return newInterpreter(contract.Load())
	}
	return newInterpreter(o.Contract)
}

func explore(o Options, rules *interpreter, sc Scenario) Result {
	if sc.Own() {
		o.Bounds.Attempts, o.Bounds.Rival = min(o.Bounds.Attempts, 2), false
		if sc.Votes || sc.Claims { // only people take part in these
			o.Bounds.Nodes = 1
		}
	}
	s := search{model: newModel(o, rules, sc), seen: newTable()}
	return s.run()
}

func newModel(o Options, rules *interpreter, sc Scenario) *model {
	m := &model{rules: rules, bounds: o.Bounds, scenario: sc, bare: o.Bare, only: o.Only, coverage: newCoverage(),
		probed: map[probeKey]bool{}}
	for _, sw := range o.Without {
		m.off[sw] = true
	}
	for p := queued; p <= canceled; p++ {
		m.terminal[p] = p.terminal(rules.l)
	}
	m.policy = m.rules.wait(sc.Sticky, sc.Strict)
	m.judge = newJudge(m)
	return m
}

// first returns the state of a run that was just submitted.
func (*Run) first(m *model) runState {
	for p := queued; p <= canceled; p++ {
		if p.String() == m.rules.l.Submission.To {
			return p
		}
	}
	return nowhere
}

// start returns the system with a run that was just submitted.
func (m *model) start() (State, string) {
	var s State
	s.Run.State = s.Run.first(m)
	for i := range m.bounds.Nodes {
		s.Nodes[i].Up, s.Nodes[i].Registered = true, true
	}
	if m.bare {
		return s, ""
	}
	return s, m.emit(&s, &emission{transition: submission, next: s.Run.visible()})
}

// search is breadth-first, so that the first counter-example that it finds is a shortest one.
type search struct {
	*model
	seen        *table
	depth       []uint16
	parents     []uint32
	actions     []Action
	transitions int
	progress    progress
	broken      *Counterexample
}

func (s *search) run() Result {
	first, broken := s.start()
	if broken == "" {
		broken = s.check(&first)
	}
	s.visit(&first, 0, Action{})
	if broken != "" {
		s.broken = s.trace(0, nil, nil, broken)
	}
	for at := 0; at < s.seen.size() && s.broken == nil; at++ {
		s.expand(uint32(at))
	}
	if s.broken == nil && s.only == "" {
		if findStuck, ok := s.findStuck(); ok {
			s.broken = s.trace(findStuck, nil, nil, "PI-17: from here nothing that nodes and deadlines do leads to an "+
				"end, or to a wait without a deadline")
		}
	}
	return Result{
		States: s.seen.size(), Transitions: s.transitions, Depth: int(s.depth[len(s.depth)-1]), Coverage: s.coverage,
		Broken: s.broken,
	}
}

// expand takes every step that is possible in one state.
func (s *search) expand(at uint32) {
	from := *s.seen.at(at)
	if broken := s.probe(&from); s.isWanted(broken) {
		s.broken = s.trace(at, nil, nil, broken)
		return
	}
	s.progress.addState(s.isFinal(&from))
	w := walk{model: s.model, from: &from}
	w.step = func(a Action, next *State, broken string) {
		s.transitions++
		if s.broken != nil {
			return
		}
		if broken == "" && *next != from {
			broken = s.check(next)
		}
		if s.isWanted(broken) {
			s.broken = s.trace(at, &a, next, broken)
			return
		}
		to := s.visit(next, at, a)
		if to != at && a.isProgress() {
			s.progress.addStep(to)
		}
	}
	w.all()
}

// isWanted reports whether the options ask for the broken promise.
func (s *search) isWanted(broken string) bool {
	return broken != "" && (s.only == "" || strings.HasPrefix(broken, s.only))
}

// visit returns the number of the state. A state that is visited for the first time gets a new one.
func (s *search) visit(next *State, parent uint32, a Action) uint32 {
	i, isNew := s.seen.put(next)
	if isNew {
		depth := uint16(0)
		if i > 0 {
			depth = s.depth[parent] + 1
		}
		s.depth = append(s.depth, depth)
		s.parents = append(s.parents, parent)
		s.actions = append(s.actions, a)
	}
	return i
}

// String returns the counts in one line.
func (r Result) String() string {
	return fmt.Sprintf("%d states, %d transitions, depth %d", r.States, r.Transitions, r.Depth)
}
