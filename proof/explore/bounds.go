package explore

import (
	"errors"
	"fmt"
	"strings"
)

// The largest bounds that a State has room for.
const (
	MaxNodes     = 3
	MaxQuestions = 3
	MaxAttempts  = 6
)

// Bounds limit an exploration. They limit the environment of the protocol (agents, people, faults),
// never the protocol itself. So every state within the bounds can still reach an end.
type Bounds struct {
	// Nodes execute runs; from 1 to MaxNodes.
	Nodes int
	// Questions is the largest number of questions that the agent asks; from 0 to MaxQuestions.
	Questions int
	// Attempts is the largest number of turns of a run, from 1 to MaxAttempts. In the last turn,
	// the agent asks nothing and no fault happens.
	Attempts int
	// Faults is the largest number of faults, of any kind: a crash, a lease that runs out, a lost
	// acknowledgement or connection, a resident process that dies, a shutdown before or during a
	// turn, a turn that fails for a passing reason, or a turn whose failure holds the run.
	Faults int
	// Rival says that another run competes for the pool's only slot.
	Rival bool
}

// Usual returns the bounds of the ordinary test.
func Usual() Bounds { return Bounds{Nodes: 2, Questions: 2, Attempts: 3, Faults: 1, Rival: true} }

// Check returns an error if a bound is out of range.
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

// Scenario describes a run's specification and its engine.
type Scenario struct {
	Interactive bool
	Strict      bool
	// Sticky says that the engine's profile is sticky. The record has the profile after a node has
	// first asked the engine for it.
	Sticky bool
	// Repeatable says that an interrupted turn may be executed again.
	Repeatable bool
	// NoRepeatLeft says that turns were already executed again as often as the run allows, after
	// lost workers and passing failures. The limit itself is not modelled.
	NoRepeatLeft bool
	// MaxAttempt is the max_attempt that the run declares; 0 for none.
	MaxAttempt int
	// MaxAuto is the number of automatic decisions that are allowed.
	MaxAuto int
	// Budget says that the run has a budget. Each turn uses it up, and a person can raise it by one
	// turn.
	Budget bool
	// Together is how many answers the run needs of two questions that its agent asks at once; 0:
	// it asks one question a turn.
	Together int
	// Then is the action at the end of each question's wait: a word of the contract, or empty if
	// questions wait by policy. Before the end the wait has one step.
	Then string
	// Votes says that each question is an approval that two people decide.
	Votes bool
	// Claims says that people claim questions, and give them back.
	Claims bool
}

// The words for what happens at the end of a question's own wait.
const (
	thenWait    = "keep_waiting"
	thenFail    = "fail"
	thenDecide  = "auto_decide"
	thenDefault = "take_default"
)

// Own reports whether the scenario is about optional features of a single question. These scenarios
// are small, since the others cover everything else.
func (s *Scenario) Own() bool { return s.Together > 0 || s.Then != "" || s.Votes || s.Claims }

// asks is how many questions a turn asks.
func (s *Scenario) asks() uint8 {
	if s.Together > 0 {
		return 2
	}
	return 1
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
	if s.Together > 0 {
		words = append(words, fmt.Sprintf("two questions at once, %d answers", s.Together))
	}
	if s.Then != "" {
		words = append(words, "a step and an end: "+s.Then)
	}
	add(s.Votes, "two people decide", "")
	add(s.Claims, "claims", "")
	if s.MaxAttempt > 0 {
		words = append(words, fmt.Sprintf("max_attempt %d", s.MaxAttempt))
	}
	if s.Interactive {
		words = append(words, fmt.Sprintf("max_auto_decisions %d", s.MaxAuto))
	}
	return strings.Join(words, ", ")
}

// Scenarios returns all scenarios that differ in the model: every mode, profile, strictness and
// repeatability, with and without a declared max_attempt, with no or one automatic decision
// allowed, resumable runs that have no repeat left, repeatable runs with a budget, and runs whose
// agent asks two questions at once, or questions with a wait, for two people, or to be claimed.
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
		for _, then := range []string{thenWait, thenFail, thenDecide, thenDefault} {
			strict := then == thenDecide || then == thenDefault // of the run; the end of the wait goes before it
			all = append(all, Scenario{Interactive: true, Sticky: sticky, Strict: strict, MaxAuto: 1, Then: then})
		}
		for _, answers := range []int{1, 2} {
			for _, strict := range []bool{false, true} {
				all = append(all, Scenario{
					Interactive: true, Sticky: sticky, Strict: strict, MaxAuto: 1, Together: answers,
				})
			}
		}
	}
	return append(all, Scenario{Interactive: true, Votes: true},
		Scenario{Interactive: true, Claims: true, Then: thenDefault})
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
