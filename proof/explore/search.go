package explore

import (
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/contract"
)

// Options say what is explored.
type Options struct {
	// Contract is the one that is explored, and not changed; nil for the one that this program was
	// built with.
	Contract *contract.Lifecycle
	Bounds   Bounds
	// Without are the guards that are taken away.
	Without []Switch
	// Bare leaves the logs out: only the record and the protocol are looked at.
	Bare bool
	// First ends All with the first scenario in which something is broken.
	First bool
	// Only looks for the breach of one invariant, by its id, and passes over all others.
	Only string
}

// Result is what an exploration of one scenario, or of several together, found.
type Result struct {
	States, Transitions int
	// Depth is the length of the longest shortest way to a state.
	Depth    int
	Coverage Coverage
	// Broken is a shortest counter-example, nil when every invariant holds.
	Broken *Counterexample
}

// Explore walks every state of the scenario within the bounds, until an invariant is broken. The
// error says that the bounds are out of range.
func Explore(o Options, sc Scenario) (Result, error) {
	if err := o.Bounds.Check(); err != nil {
		return Result{}, err
	}
	return explore(o, o.law(), sc), nil
}

// All explores every scenario, one after the other, and adds up.
func All(o Options) (Result, error) {
	var sum Result
	if err := o.Bounds.Check(); err != nil {
		return sum, err
	}
	law := o.law()
	for _, sc := range Scenarios() {
		sum.Add(explore(o, law, sc))
		if o.First && sum.Broken != nil {
			break
		}
	}
	return sum, nil
}

// Add joins what the exploration of another scenario found. Of two counter-examples it keeps the
// shorter.
func (r *Result) Add(o Result) {
	r.States += o.States
	r.Transitions += o.Transitions
	r.Depth = max(r.Depth, o.Depth)
	r.Coverage.Add(o.Coverage)
	if o.Broken != nil && (r.Broken == nil || len(o.Broken.Steps) < len(r.Broken.Steps)) {
		r.Broken = o.Broken
	}
}

func (o Options) law() *law {
	if o.Contract == nil {
		return newLaw(contract.Load())
	}
	return newLaw(o.Contract)
}

func explore(o Options, law *law, sc Scenario) Result {
	s := search{model: newModel(o, law, sc), seen: newTable()}
	return s.run()
}

func newModel(o Options, law *law, sc Scenario) *model {
	m := &model{law: law, bounds: o.Bounds, scenario: sc, bare: o.Bare, only: o.Only, seen: newCoverage(),
		probedAlready: map[probed]bool{}}
	for _, sw := range o.Without {
		m.off[sw] = true
	}
	for p := queued; p <= canceled; p++ {
		m.ends[p] = p.terminal(law.l)
	}
	m.policy = m.law.wait(sc.Sticky, sc.Strict)
	m.judge = newJudge(m)
	return m
}

// first is the state in which a submitted run begins.
func (*Run) first(m *model) place {
	for p := queued; p <= canceled; p++ {
		if p.String() == m.law.l.Submission.To {
			return p
		}
	}
	return nowhere
}

// start is the system with a run that was just submitted.
func (m *model) start() (State, string) {
	var s State
	s.Run.State = s.Run.first(m)
	for i := range m.bounds.Nodes {
		s.Nodes[i].Up, s.Nodes[i].Registered = true, true
	}
	if m.bare {
		return s, ""
	}
	return s, m.emit(&s, &emission{arrow: submission, next: s.Run.visible()})
}

// search is breadth first, so that the first state that breaks something is as near as any.
type search struct {
	*model
	seen        *table
	depth       []uint16
	parents     []uint32
	actions     []Action
	transitions int
	ways        ways
	broken      *Counterexample
}

func (s *search) run() Result {
	first, broken := s.start()
	if broken == "" {
		broken = s.check(&first)
	}
	s.meet(&first, 0, Action{})
	if broken != "" {
		s.broken = s.trace(0, nil, nil, broken)
	}
	for at := 0; at < s.seen.size() && s.broken == nil; at++ {
		s.expand(uint32(at))
	}
	if s.broken == nil && s.only == "" {
		if stuck, ok := s.stuck(); ok {
			s.broken = s.trace(stuck, nil, nil, "PI-17: from here nothing that nodes and deadlines do leads to an "+
				"end, or to a wait without one")
		}
	}
	return Result{
		States: s.seen.size(), Transitions: s.transitions, Depth: int(s.depth[len(s.depth)-1]), Coverage: s.model.seen,
		Broken: s.broken,
	}
}

// expand takes all steps from one state.
func (s *search) expand(at uint32) {
	from := *s.seen.at(at)
	if broken := s.probe(&from); s.counts(broken) {
		s.broken = s.trace(at, nil, nil, broken)
		return
	}
	s.ways.from(at, s.arrived(&from))
	w := walk{model: s.model, from: &from}
	w.step = func(a Action, next *State, broken string) {
		s.transitions++
		if s.broken != nil {
			return
		}
		if broken == "" && *next != from {
			broken = s.check(next)
		}
		if s.counts(broken) {
			s.broken = s.trace(at, &a, next, broken)
			return
		}
		to := s.meet(next, at, a)
		if to != at && a.helps() {
			s.ways.add(to)
		}
	}
	w.all()
}

// counts reports whether the breach is one that is looked for.
func (s *search) counts(broken string) bool {
	return broken != "" && (s.only == "" || strings.HasPrefix(broken, s.only))
}

// meet returns the state's number, a new one for one that was never seen.
func (s *search) meet(next *State, parent uint32, a Action) uint32 {
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

// String is a line of figures.
func (r Result) String() string {
	return fmt.Sprintf("%d states, %d transitions, depth %d", r.States, r.Transitions, r.Depth)
}
