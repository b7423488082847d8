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

// Bounds say how far an exploration goes. They bound what surroundings do (agents, people, faults),
// never what the protocol does in answer: so every state that is reached can still be led to its
// end.
type Bounds struct {
	// Nodes execute runs; from 1 to MaxNodes.
	Nodes int
	// Questions is how many the agent asks at most; from 0 to MaxQuestions.
	Questions int
	// Attempts is how many turns a run has at most, from 1 to MaxAttempts: in the last one the
	// agent asks nothing and nothing breaks.
	Attempts int
	// Faults is how many things break at most: a crash, a lease that runs out, an acknowledgement
	// or a connection that is lost, a resident process that dies, a shutdown during a turn. Each
	// kind may be any number of them.
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
	// Sticky is the profile that the engine turns out to have when it is first asked.
	Sticky bool
	// Repeatable says that an interrupted turn may be executed again.
	Repeatable bool
	// Spent says that the run was repeated as often as it may be already. How often that is, is not
	// modelled.
	Spent bool
	// MaxAttempt is the declared one, 0 for none.
	MaxAttempt int
	// MaxAuto is how many automatic decisions are allowed.
	MaxAuto int
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
	add(s.Spent, "no repeat left", "")
	if s.MaxAttempt > 0 {
		words = append(words, fmt.Sprintf("max_attempt %d", s.MaxAttempt))
	}
	if s.Interactive {
		words = append(words, fmt.Sprintf("max_auto_decisions %d", s.MaxAuto))
	}
	return strings.Join(words, ", ")
}

// Scenarios are all that are told apart: every mode, profile, strictness and repeatability,
// max_attempt declared or not, and none or one automatic decision allowed; and resumable ones that
// have no repeat left.
func Scenarios() []Scenario {
	var all []Scenario
	for _, sticky := range []bool{false, true} {
		for _, repeatable := range []bool{false, true} {
			for _, attempts := range []int{0, 2} {
				kind := Scenario{Sticky: sticky, Repeatable: repeatable, MaxAttempt: attempts}
				all = append(all, kind.modes()...)
				if kind.Spent = repeatable && !sticky && attempts == 0; kind.Spent {
					all = append(all, kind.modes()...)
				}
			}
		}
	}
	return all
}

// modes are the scenario as an automatic run, and as each kind of interactive one.
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
