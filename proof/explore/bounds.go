package explore

import (
	"errors"
	"fmt"
	"strings"
)

// The most that a State has room for.
const (
	MaxNodes     = 3
	MaxQuestions = 3
	MaxAttempts  = 6
)

// Bounds say how far an exploration goes. They limit what happens to the protocol from outside
// (agents, people, faults), never what the protocol does about it. So every state within the bounds
// can still reach an end.
type Bounds struct {
	// Nodes execute runs; from 1 to MaxNodes.
	Nodes int
	// Questions is how many the agent asks at most; from 0 to MaxQuestions.
	Questions int
	// Attempts is how many turns a run has at most, from 1 to MaxAttempts: in the last one the
	// agent asks nothing and nothing breaks.
	Attempts int
	// Faults is how many faults happen at most, of any kinds: a crash, a lease that runs out, a
	// lost acknowledgement or connection, a resident process that dies, a shutdown before or during
	// a turn, a turn that fails for a passing reason, or for one for which it is held.
	Faults int
	// Rival says that another run competes for the pool's only slot.
	Rival bool
}

// Usual are the bounds of the ordinary test.
func Usual() Bounds { return Bounds{Nodes: 2, Questions: 2, Attempts: 3, Faults: 1, Rival: true} }

// Check says what is out of range.
func (b Bounds) Check() error {
	var faults []error
	within := func(name string, value, least, most int) {
		if value < least || value > most {
			faults = append(faults, fmt.Errorf("explore: %s is %d, want %d to %d", name, value, least, most))
		}
	}
	within("nodes", b.Nodes, 1, MaxNodes)
	within("questions", b.Questions, 0, MaxQuestions)
	within("attempts", b.Attempts, 1, MaxAttempts)
	within("faults", b.Faults, 0, 9)
	return errors.Join(faults...)
}

// Scenario is what a run is submitted with, and the engine that it meets.
type Scenario struct {
	Interactive bool
	Strict      bool
	// Sticky is the engine's profile. The record has it after the engine was first asked for it.
	Sticky bool
	// Repeatable says that an interrupted turn may be executed again.
	Repeatable bool
	// NoRepeatLeft says that turns were already executed again as often as the run allows, after
	// lost workers and passing failures. The limit itself is not modelled.
	NoRepeatLeft bool
	// MaxAttempt is the declared one, 0 for none.
	MaxAttempt int
	// MaxAuto is how many automatic decisions are allowed.
	MaxAuto int
	// Budget says that the run has a budget, which each turn uses up, and which a person can raise
	// for one turn more.
	Budget bool
}

func (s Scenario) String() string {
	words := []string{"auto"}
	if s.Interactive {
		words[0] = "interactive"
	}
	add := func(is bool, yes, no string) {
		if !is {
			yes = no
		}
		if yes != "" {
			words = append(words, yes)
		}
	}
	add(s.Sticky, "sticky_process", "resumable")
	add(s.Strict, "strict", "")
	add(s.Repeatable, "repeatable", "")
	add(s.NoRepeatLeft, "no repeat left", "")
	add(s.Budget, "budget", "")
	if s.MaxAttempt > 0 {
		words = append(words, fmt.Sprintf("max_attempt %d", s.MaxAttempt))
	}
	if s.Interactive {
		words = append(words, fmt.Sprintf("max_auto_decisions %d", s.MaxAuto))
	}
	return strings.Join(words, ", ")
}

// Scenarios are all that differ in the model: every mode, profile, strictness and repeatability,
// max_attempt declared or not, none or one automatic decision allowed, resumable runs that have no
// repeat left, and repeatable runs with a budget.
func Scenarios() []Scenario {
	var all []Scenario
	for _, sticky := range []bool{false, true} {
		for _, repeatable := range []bool{false, true} {
			for _, attempts := range []int{0, 2} {
				kind := Scenario{Sticky: sticky, Repeatable: repeatable, MaxAttempt: attempts}
				all = append(all, kind.modes()...)
				if kind.NoRepeatLeft = repeatable && !sticky && attempts == 0; kind.NoRepeatLeft {
					all = append(all, kind.modes()...)
				}
				kind.NoRepeatLeft = false
				if kind.Budget = repeatable && attempts == 0; kind.Budget {
					all = append(all, kind.modes()...)
				}
			}
		}
	}
	return all
}

// modes returns the scenario as an automatic run and as each kind of interactive run.
func (s Scenario) modes() []Scenario {
	all := []Scenario{s}
	s.Interactive = true
	for _, s.Strict = range []bool{false, true} {
		for _, s.MaxAuto = range []int{0, 1} {
			all = append(all, s)
		}
	}
	return all
}
