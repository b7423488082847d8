package crash

import (
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

// Scenario is a fixed piece of work.
type Scenario struct {
	Name string
	Doc  string
	Runs []Plan
	// Orphans has the work begun by a host that ends when each run is in its place; the points are
	// those of the next one.
	Orphans bool
	// Upkeep has the points that are about no run belong to this scenario, and Renewals those of
	// renewals that name a run. Everywhere else they depend on how fast the machine is.
	Upkeep, Renewals bool
}

// Counts reports whether the point belongs to the scenario.
func (s *Scenario) Counts(p Point) bool {
	switch renewal := len(p.Name) > 5 && p.Name[:5] == "renew"; {
	case p.Upkeep:
		return s.Upkeep
	case renewal:
		return s.Renewals
	}
	return true
}

// Moment is a place in a run's life that people can see.
type Moment string

// The moments.
const (
	Queued Moment = "queued"
	Spoke  Moment = "spoke" // the first turn has said something
	Asked  Moment = "asked" // the first question
	Ended  Moment = "ended"
)

// Plan is one run of a scenario: its spec, its agent, and what people do.
type Plan struct {
	Name   string
	Spec   lifecycle.Spec
	Sticky bool
	Turn   Turn
	// Later is what the agent does in the last host, where Turn waits for one to end. Nil: Turn.
	Later Turn

	Place   Moment         // where a scenario with orphans leaves it
	Replies map[int]string // by interaction
	Cancel  Moment
	Lose    Moment // its resident process dies
	Leave   Moment // the host is shut down
	Renewed Moment // people wait here until a renewal has named a run
	Prune   bool   // it is deleted when it has ended

	Ends End // without a crash, and with lost answers
	// Broken are further ends that a crash may lead to, as the spec and the profile say (section
	// E).
	Broken []End
}

// End is how a run ends.
type End struct {
	State fsm.State
	Code  fsm.Code
}

// of is the run's spec in a case.
func (p *Plan) spec(id string) lifecycle.Spec {
	s := p.Spec
	s.ID = id
	if s.Prompt == "" {
		s.Prompt = "Do the job."
	}
	s.Engine = string(fsm.ProfileResumable)
	if p.Sticky {
		s.Engine = string(fsm.ProfileStickyProcess)
	}
	if s.SessionTimeout == 0 {
		s.SessionTimeout = 24 * time.Hour
	}
	return s
}

// fixed is a time in the far future of every clock, for runs that are held back: the spec is the
// same in each host.
var fixed = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	succeeded   = End{fsm.StateSucceeded, ""}
	canceled    = End{fsm.StateCanceled, fsm.CodeRunCanceled}
	interrupted = End{fsm.StateFailed, fsm.CodeOrchestratorRestartInterrupted}
	processLost = End{fsm.StateFailed, fsm.CodeInteractionProcessLost}
	timedOut    = End{fsm.StateFailed, fsm.CodeInteractionWaitTimeout}
)
